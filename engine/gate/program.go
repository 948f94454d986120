package gate

import (
	"context"
	"fmt"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Start asks whether a program may start.
type Start struct {
	File   string
	Text   string
	Inputs label.Label // of everything that the program can read: inputs, and what earlier programs left
	Tier   Tier        // that it will run in at least
}

// Program decides whether the turn's program, by the author that [Gate.SetTurn] named, may start. It
// returns the isolation that it must run in, which is that of the start or, if policy obliges to more, what [Config.CanHave]
// says can be had. A nil error means that it may.
func (g *Gate) Program(ctx context.Context, s Start) (Tier, *eval.CallError) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	g.mu.Lock()
	id, author := fmt.Sprintf("%d.p", g.turn), g.program
	g.mu.Unlock()
	args := value.DictOf(label.Bottom(),
		value.Field{Name: "text", Of: value.StringOf(s.Text, label.Bottom())}, // its author's label is that of the pc
		value.Field{Name: "inputs", Of: value.NoneOf(s.Inputs)},
	)
	x := g.begin(programShape, policies.KindProgram, "program", id, args, author, label.Bottom())
	x.site.File = s.File
	v := g.settle(ctx, x)
	if err := g.flush(ctx, false); err != nil {
		return TierNone, g.stopped(x, codeJournal, err).refusal
	}
	if v.refusal != nil {
		return TierNone, v.refusal
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tier = max(v.tier, s.Tier)
	return g.tier, nil
}
