package gate

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"callgate/builtins"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Observation is what the model is told of a value that it asked to see.
type Observation struct {
	Shown   bool
	Text    string      // the value as a program prints it, or a description of it
	Label   label.Label // of what joined the conversation; means nothing for a description
	Context label.Label // of the model's context now
	Rules   []string    // the ids of the rules that hid it: for people
}

// DescribeBits is what the description of a hidden value takes from the meter: that it was
// hidden, its kind, a bucket of its size, its trust, and which part of what a tool gave it is. Which of several names it has, which of the tools gave
// it, and who may read it, comes on top.
const DescribeBits = 9

// Hidden is all that is said of a hidden value when the meter has no bits left for a description.
const Hidden = "(hidden)"

// Denied is the code of a refusal of which the meter has no bits left to tell more. Where it stands is then nothing that may be shown.
const Denied = codeDenied

const reasonHide = "core.hide-untrusted"

// Observe shows a value to the model, if that is allowed: the model is a sink, and showing
// is a call like any other. A value that is shown joins its label, and the pc under which it
// was asked for, to the context. One that is not is described by its name, kind, size in
// buckets, the tool that gave it and what that declares, trust and the index of its readers, and never by its data. The name is one of so many
// that it could have had, the program being what it is.
//
// The error is a [*eval.CallError] that ends the turn: the journal failed, ctx ended, or a person must
// be asked and nobody is there.
func (g *Gate) Observe(ctx context.Context, name string, names int, v value.Value, pc label.Label) (Observation, error) {
	g.deciding.Lock()
	defer g.deciding.Unlock()
	g.mu.Lock()
	g.observed++
	id := fmt.Sprintf("%d.o%d", g.turn, g.observed)
	author := g.program
	g.mu.Unlock()

	args := value.DictOf(label.Bottom(), value.Field{Name: "value", Of: v}, value.Field{Name: "name", Of: value.StringOf(name, author)})
	if p := g.cfg.Provider; p != "" {
		args.Keys = append(args.Keys, value.StringOf("provider", label.Bottom()))
		args.Items = append(args.Items, value.StringOf(p, label.Bottom()))
	}
	x := g.begin(observeShape, policies.KindObserve, "observe", id, args, pc, label.Bottom())
	x.core = func() ([]policies.Reason, bool) {
		if l := v.Deep(); !g.cfg.Reveal && l.Trust() < label.Internal {
			why := core(reasonHide, fmt.Sprintf("got %s, want trust internal", l))
			why.Args = []string{"value"}
			return []policies.Reason{why}, false
		}
		return nil, false
	}
	decided := g.settle(ctx, x)
	if decided.refusal != nil && decided.refusal.Final {
		return Observation{}, decided.refusal
	}
	out := Observation{Label: x.in}
	if decided.refusal == nil {
		shown, _ := x.final.Get("value")
		out.Shown, out.Text = true, cut(printed(shown), g.cfg.Limits.Show)
		out.Label = decided.lowered(label.JoinAll(x.final.Deep(), pc, decided.past))
	} else {
		out.Text, out.Rules = g.describe(name, names, v, decided.outcome), decided.rules
	}
	out.Context = g.Context()
	if out.Shown {
		out.Context = out.Context.Join(out.Label)
	}
	event := journal.Observed{Name: name, Shown: out.Shown, Text: out.Text, Label: out.Label, Context: out.Context, Rules: out.Rules}
	event.Lowered = !out.Context.SameClass(g.Context())
	g.later(journal.Observation, id, event)
	if err := g.flush(ctx, false); err != nil {
		return Observation{}, g.stopped(x, codeJournal, err).refusal
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if out.Shown {
		g.counts.Shown++
		g.shown = g.shown.Join(out.Label)
	} else {
		g.counts.Hidden++
	}
	return out, nil
}

// printed is a value as a program prints it: a string is its text.
func printed(v value.Value) string {
	if v.Kind == value.String {
		return v.Str
	}
	return v.Text()
}

// cut shortens a text to a number of bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + fmt.Sprintf("… (cut at %d bytes)", n)
}

// describe says of a hidden value what the meter pays for.
func (g *Gate) describe(name string, names int, v value.Value, l label.Label) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	deep := v.Deep()
	// Readers that were not met before are one choice more.
	cost := DescribeBits + choiceBits(names) + choiceBits(len(g.shapes)+1) + choiceBits(len(g.readers)+1)
	if !g.reveal(l, cost) {
		return Hidden
	}
	i := slices.IndexFunc(g.readers, func(r label.Readers) bool { return slices.Equal(r.Names(), deep.Readers().Names()) })
	if i < 0 {
		i = len(g.readers)
		g.readers = append(g.readers, deep.Readers())
	}
	return fmt.Sprintf("%s: %s%s%s, trust %s, readers #%d %s", name, v.Kind, bucket(v), g.gave(v), deep.Trust(), i, Hidden)
}

// choiceBits is how many bits a choice among so many is worth.
func choiceBits(n int) int { return bits.Len(uint(max(n-1, 0))) }

// gave says which tool gave a value, as its label has it, and what that tool declares to give; "" if it is not one tool's.
func (g *Gate) gave(v value.Value) string {
	sources := v.Label.Sources()
	if len(sources) == 0 || v.Label.More() {
		return ""
	}
	one := sources[0]
	for _, s := range sources {
		if s.Tool != one.Tool || s.Field != one.Field {
			return ""
		}
	}
	shape := g.shapes[one.Tool]
	if shape == nil {
		return ""
	}
	text := " from " + one.Tool
	if one.Field != "" || len(v.Items) == 0 {
		return text
	}
	returns := shape.tool.Returns
	if v.Kind == value.Dict || v.Kind == value.Record { // one of a list, or all of it
		if item := builtins.ItemSchema(returns); item != nil {
			returns = item
		}
		if outline := builtins.Outline(returns); strings.HasPrefix(outline, "{") {
			text += " " + outline
		}
	}
	if outline := builtins.Outline(returns); v.Kind == value.List && strings.HasPrefix(outline, "list[") {
		text += " " + outline
	}
	return text
}

// bucket is the size of a text or a container in words, of which there are eight.
func bucket(v value.Value) string {
	n := len(v.Items)
	if v.Scalar() {
		if v.Kind != value.String && v.Kind != value.Bytes {
			return ""
		}
		n = len(v.Str)
	}
	if n <= 1 {
		return fmt.Sprintf(" of size %d", n)
	}
	for _, most := range []int{10, 100, 1_000, 10_000, 100_000} {
		if n <= most {
			return fmt.Sprintf(" of size up to %d", most)
		}
	}
	return " of size over 100000"
}
