package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"callgate/builtins"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// Reasons lists the ids of the reasons that a gate itself has to refuse, besides those of package policies.
func Reasons() []string {
	return []string{reasonApproval, reasonIsolation, reasonGranted, reasonHide}
}

// Recorded is a decision of a run with the request that it answered, as far as the journal has it.
type Recorded struct {
	Call    string
	Made    journal.DecisionMade
	Request *policies.Request
	Own     bool     // the gate itself refused: the policies were not asked, or not heard
	Notes   []string // in what the request may differ from the one that was decided, for people
}

// Rebuild rebuilds the requests of a run's decisions, in their order, so that they can be decided again or
// explained. The arguments, their labels, the control flow, author, history and principal are those of the run; the sinks of
// arguments, their normal forms and hosts are those that the tools declare today. A tool that is not among the tools is taken to
// be as the journal has it. What a run that was gone on with has decided again counts once. What has been redacted from the journal is left out; without the run's start it is an error.
func Rebuild(events []journal.Event, tools *builtins.Set) ([]Recorded, error) {
	if tools == nil {
		tools = new(builtins.Set)
	}
	events = journal.Current(events, false)
	p := past{tools: tools, shown: label.Bottom(), done: map[string]int{}, went: map[string]bool{}, tool: map[string]string{}, counted: map[string]bool{}}
	for _, e := range events {
		if err := p.look(e); err != nil {
			return nil, err
		}
	}
	if !p.begun {
		return nil, fmt.Errorf("gate: a run without its start, want %s", journal.RunStart)
	}
	var out []Recorded
	for _, e := range events {
		r, err := p.next(e)
		if err != nil {
			return nil, err
		}
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

// past is a run that is read again.
type past struct {
	tools *builtins.Set
	start journal.RunStarted
	run   string
	begun bool
	typed []string
	went  map[string]bool   // calls that went on
	tool  map[string]string // that calls ran

	turn    int
	shown   label.Label // of the model's context, without who writes the program
	done    map[string]int
	marks   []string
	counted map[string]bool // calls that are in done and marks
}

// look reads what of the run must be known beforehand: a batch is decided before it is begun.
func (p *past) look(e journal.Event) error {
	if e.Redacted() {
		return nil
	}
	switch e.Type {
	case journal.RunStart:
		start, err := journal.Decode[journal.RunStarted](e)
		if err != nil {
			return err
		}
		p.start, p.run, p.begun = start, e.Run, true
		for _, in := range start.Inputs {
			if in.Value.Label.Trust() >= label.User {
				p.typed = append(p.typed, in.Value.Str)
			}
		}
		for _, name := range start.Tools {
			p.done[name] = 0
		}
		if start.Continues != nil {
			p.marks = start.Continues.Marks
		}
	case journal.CallStart:
		started, err := journal.Decode[journal.CallStarted](e)
		if err != nil {
			return err
		}
		p.went[e.Call], p.tool[e.Call] = true, started.Tool
	case journal.Endorsed:
		p.went[e.Call] = true
	case journal.CallResult:
		ended, err := journal.Decode[journal.CallEnded](e)
		if err != nil {
			return err
		}
		p.went[e.Call] = p.went[e.Call] || ended.Code == ""
	case journal.Observation:
		o, err := journal.Decode[journal.Observed](e)
		if err != nil {
			return err
		}
		p.went[e.Call] = o.Shown
	}
	return nil
}

// next takes the next event, and returns what was decided if it is a decision.
func (p *past) next(e journal.Event) (*Recorded, error) {
	if e.Redacted() {
		return nil, nil
	}
	switch e.Type {
	case journal.TurnStart:
		t, err := journal.Decode[journal.TurnStarted](e)
		if err != nil {
			return nil, err
		}
		p.turn = t.Turn
	case journal.Observation:
		o, err := journal.Decode[journal.Observed](e)
		if err != nil {
			return nil, err
		}
		if o.Shown {
			p.shown = p.shown.Join(o.Context)
		}
	case journal.Decided:
		d, err := journal.Decode[journal.DecisionMade](e)
		if err != nil {
			return nil, err
		}
		r := &Recorded{Call: e.Call, Made: d}
		if err := p.request(r); err != nil {
			return nil, fmt.Errorf("gate: call %s: %w", e.Call, err)
		}
		p.count(e.Call, d)
		return r, nil
	}
	return nil, nil
}

// count enters a call that went on in the history of those after it.
func (p *past) count(call string, d journal.DecisionMade) {
	if p.counted[call] || !p.went[call] && !(d.Kind == policies.KindProgram && d.Decision.Effect == policies.Allow) {
		return
	}
	p.counted[call] = true
	if d.Kind == policies.KindTool || d.Kind == policies.KindModel {
		p.done = maps.Clone(p.done)
		p.done[cmp.Or(p.tool[call], d.Tool)]++
	}
	for _, o := range d.Decision.Obligations {
		if name, _ := o.Fields["name"].(string); o.Type == policies.ObligeMark && name != "" {
			p.marks = with(p.marks, name)
		}
	}
}

func (p *past) request(r *Recorded) error {
	d := r.Made
	s, notes, err := p.shape(d)
	if err != nil {
		return err
	}
	r.Notes = notes
	note := func(text string) { r.Notes = append(r.Notes, text) }
	for _, reason := range d.Decision.Reasons {
		r.Own = r.Own || reason.Engine == "core" && slices.Contains(Reasons(), reason.ID)
	}
	args := value.DictOf(label.Bottom())
	secret := false
	for _, a := range d.Args {
		args.Keys = append(args.Keys, value.StringOf(a.Name, label.Bottom()))
		args.Items = append(args.Items, a.Value)
		secret = secret || a.Value.Deep().HasTag(journal.SecretTag)
	}
	if secret {
		note("secrets are masked in the journal: what rules say of their text may differ")
	}
	if slices.ContainsFunc(d.Decision.Obligations, func(o policies.Obligation) bool { return o.Type == policies.ObligeRedact }) {
		note("the arguments are those after redaction")
	}
	session := p.run
	if was := p.start.Continues; was != nil {
		session = was.Session
		note("what a person typed in earlier runs of the session counts as typed, and is in their journals")
	}
	now := d.Decision.Time
	g := &Gate{
		cfg: Config{
			Agent:     policies.Agent{Name: p.start.Agent, Digest: p.start.Digest, Tools: p.start.Tools, Effects: p.effects(d)},
			Principal: p.start.Principal, Typed: p.typed, Clock: func() time.Time { return now },
			Session: policies.Session{ID: session, Run: p.run, Mode: p.start.Mode},
		},
		turn: p.turn, done: p.done, marks: p.marks,
	}
	r.Request, err = g.request(&crossing{
		shape: s, id: r.Call, kind: d.Kind, name: d.Tool, site: d.Site, args: args, final: args, pc: d.PC,
		program: d.Program, context: p.shown.Join(d.Program), in: args.Deep().Join(d.PC),
	})
	return err
}

// shape is what is known of the call before its arguments: today, or as the journal has it.
func (p *past) shape(d journal.DecisionMade) (*shape, []string, error) {
	switch d.Kind {
	case policies.KindTool:
	case policies.KindBuiltin:
		return builtinShape, nil, nil
	default:
		for _, s := range []*shape{endorseShape, declassifyShape, answerShape, observeShape, programShape, modelShape} {
			if s.tool.Name == d.Kind {
				return s, nil, nil
			}
		}
		return nil, nil, fmt.Errorf("kind: got %q, want one that this version knows", d.Kind)
	}
	if t := p.tools.Lookup(d.Tool); t != nil {
		s, err := newShape(t)
		if err == nil && !slices.Equal(s.effects, d.Effects) {
			return s, []string{fmt.Sprintf("the tool had the effects %v and has %v today", d.Effects, s.effects)}, nil
		}
		return s, nil, err
	}
	effects, err := builtins.ParseEffects(d.Effects)
	if err != nil {
		return nil, nil, err
	}
	t := &builtins.Tool{Name: d.Tool, Effects: effects}
	for _, a := range d.Args {
		t.Params = append(t.Params, builtins.Param{Name: a.Name, Sink: a.Sink})
	}
	s, err := newShape(t)
	return s, []string{"the tool is not granted today: of its parameters only the sinks of those that were given are known"}, err
}

// effects are those of all granted tools, as far as they are known today, and of the call's.
func (p *past) effects(d journal.DecisionMade) []string {
	all := map[string]bool{}
	for _, name := range p.start.Tools {
		if t := p.tools.Lookup(name); t != nil {
			for _, e := range t.Effects.Names() {
				all[e] = true
			}
		} else if name == d.Tool {
			for _, e := range d.Effects {
				all[e] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
