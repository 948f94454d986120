package main

import (
	"fmt"
	"slices"
	"strings"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
)

// link is one step of the way that a value came, and the steps before it.
type link struct {
	Text  string  `json:"text"`
	Call  string  `json:"call,omitempty"`
	Site  string  `json:"site,omitempty"`
	Label string  `json:"label,omitempty"`
	Again bool    `json:"again,omitempty"` // told before
	From  []*link `json:"from,omitempty"`
}

func (l *link) write(b *strings.Builder, indent string) {
	b.WriteString(indent + l.Text)
	if l.Call != "" {
		b.WriteString("  call " + l.Call)
	}
	if l.Site != "" {
		b.WriteString(" " + l.Site)
	}
	if l.Label != "" {
		b.WriteString("  " + l.Label)
	}
	if l.Again {
		b.WriteString("  (see above)")
	}
	b.WriteString("\n")
	for _, f := range l.From {
		f.write(b, indent+"  ")
	}
}

const (
	maxChain = 16  // links after each other
	maxLinks = 400 // of one explanation
)

// chains follows the sources of labels through the events of a run, up to one call.
type chains struct {
	may      func(label.Label) bool
	inputs   map[string]value.Value
	made     map[string]journal.DecisionMade
	results  []result                           // of calls, oldest first
	granted  map[string]journal.EndorsementMade // by the call that endorsed
	replies  map[string]reply                   // by "turn 2"
	observed []shownToModel                     // oldest first

	reach map[label.Source]map[label.Source]bool
	told  map[string]bool
	links int
	where sites
}

// result is what a call gave, and the sources that are its own.
type result struct {
	call    string
	tool    string
	sources []label.Source
	label   label.Label
}

type reply struct {
	journal.ModelReplied
	seen int // how many observations came before it
}

type shownToModel struct {
	journal.Observed
	call string
}

// newChains reads the events before a call.
func newChains(events []journal.Event, may func(label.Label) bool, call string) *chains {
	c := &chains{
		may: may, inputs: map[string]value.Value{}, made: map[string]journal.DecisionMade{}, granted: map[string]journal.EndorsementMade{}, replies: map[string]reply{},
		reach: map[label.Source]map[label.Source]bool{}, told: map[string]bool{},
	}
	for _, e := range events {
		if e.Type == journal.Decided && e.Call == call {
			break
		}
		if !e.Redacted() {
			c.take(e)
		}
	}
	return c
}

// take takes note of an event. One that cannot be read is no link of a chain.
func (c *chains) take(e journal.Event) {
	switch e.Type {
	case journal.RunStart:
		if start, err := journal.Decode[journal.RunStarted](e); err == nil {
			for _, in := range start.Inputs {
				c.inputs[in.Name] = in.Value
			}
		}
	case journal.Decided:
		if d, err := journal.Decode[journal.DecisionMade](e); err == nil {
			c.made[e.Call] = d
		}
	case journal.CallResult:
		if ended, err := journal.Decode[journal.CallEnded](e); err == nil && ended.Value != nil {
			c.results = append(c.results, result{e.Call, ended.Tool, sourcesOf(*ended.Value), ended.Label})
		}
	case journal.Endorsed:
		if g, err := journal.Decode[journal.EndorsementMade](e); err == nil {
			c.granted[e.Call] = g
		}
	case journal.ModelReply:
		if r, err := journal.Decode[journal.ModelReplied](e); err == nil {
			c.replies[fmt.Sprintf("turn %d", r.Turn)] = reply{r, len(c.observed)}
		}
	case journal.Observation:
		if o, err := journal.Decode[journal.Observed](e); err == nil && o.Shown {
			c.observed = append(c.observed, shownToModel{o, e.Call})
		}
	}
}

// sourcesOf returns the sources of all nodes of a value, with those of parts that no label names as a whole.
func sourcesOf(v value.Value) []label.Source {
	seen := map[label.Source]bool{}
	var out []label.Source
	var walk func(v value.Value, depth int)
	walk = func(v value.Value, depth int) {
		for _, s := range v.Label.Sources() {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
		if depth > value.MaxDepth {
			return
		}
		for _, e := range v.Items {
			walk(e, depth+1)
		}
	}
	walk(v, 0)
	return out
}

// of tells where what has a label came from.
func (c *chains) of(l label.Label) []*link { return c.from(l, 0) }

func (c *chains) from(l label.Label, depth int) []*link {
	if depth > maxChain || c.links > maxLinks {
		return []*link{{Text: "..."}}
	}
	out := c.sources(l.Sources(), depth)
	if l.More() {
		out = append(out, &link{Text: "and sources that the label no longer names"})
	}
	if g := c.grants(l.Grants()); g != nil && (depth == 0 || !c.told[g.Call]) { // what depends on them mostly has them all
		c.told[g.Call] = true
		out = append(out, g)
	}
	return out
}

// sources tells of sources, those of one call together.
func (c *chains) sources(all []label.Source, depth int) []*link {
	type group struct {
		call    int // of the results; -1: none
		sources []label.Source
	}
	var groups []*group
	for _, s := range c.last(all) {
		at := c.giver(s)
		i := slices.IndexFunc(groups, func(g *group) bool { return at >= 0 && g.call == at })
		if i < 0 {
			groups = append(groups, &group{at, []label.Source{s}})
			continue
		}
		groups[i].sources = append(groups[i].sources, s)
	}
	var out []*link
	for _, g := range groups {
		if g.call < 0 {
			out = append(out, c.source(g.sources[0], depth))
			continue
		}
		r := c.results[g.call]
		l := &link{Text: together(g.sources), Call: r.call, Site: c.where.place(c.made[r.call].Site), Label: r.label.String()}
		out = append(out, c.link("call "+r.call, l, func() []*link { return c.args(r.call, depth+1) }))
	}
	return out
}

// together names sources of one call: "mail.read 4.eml (body, subject)", "mail.list 1.eml, 2.eml and 9 more". What a
// field was read from is not named again.
func together(sources []label.Source) string {
	const most = 3
	fields := map[string][]string{}
	var of []string
	for _, s := range sources {
		if fields[s.Of] == nil {
			of = append(of, s.Of)
			fields[s.Of] = []string{}
		}
		if s.Field != "" {
			fields[s.Of] = append(fields[s.Of], s.Field)
		}
	}
	if len(of) > 1 {
		of = slices.DeleteFunc(of, func(name string) bool { return name == "" })
	}
	var parts []string
	for i, name := range of {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(of)-most))
			break
		}
		if list := fields[name]; len(list) > 0 {
			name += " (" + strings.Join(list, ", ") + ")"
		}
		parts = append(parts, name)
	}
	return strings.TrimRight(sources[0].Tool+" "+strings.Join(parts, ", "), " ")
}

// grants tells of the endorsements that a value depends on. Each of them is a call that can be explained by itself.
func (c *chains) grants(all []label.Grant) *link {
	bits := 0
	var calls []string
	for _, g := range all {
		if _, ok := c.granted[g.Call]; ok {
			bits += g.Bits
			calls = append(calls, g.Call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	c.links++
	return &link{Text: fmt.Sprintf("chosen by endorsements that let %d bits through", bits), Call: strings.Join(calls, ", ")}
}

// link makes a link, once: what has been told is not told again.
func (c *chains) link(key string, l *link, from func() []*link) *link {
	c.links++
	if c.told[key] {
		l.Again = true
		return l
	}
	c.told[key] = true
	if from != nil {
		l.From = from()
	}
	if len(l.From) == 0 {
		delete(c.told, key) // there is nothing above to see
	}
	return l
}

// source tells of one source that no call gave.
func (c *chains) source(s label.Source, depth int) *link {
	text := sourceText(s)
	switch s.Tool {
	case "input":
		l := &link{Text: "input " + s.Of}
		if v, ok := c.inputs[s.Of]; ok {
			l.Label = v.Label.String()
			shown := console.Hidden(v.Deep())
			if c.may(v.Deep()) {
				if shown = quoted(v.Str); v.Kind != value.String {
					shown = v.Text()
				}
			}
			l.Text += " = " + shown
		}
		return c.link(text, l, nil)
	case "agent":
		return c.link(text, &link{Text: "the file of the agent " + s.Of}, nil)
	case "program":
		return c.link(text, &link{Text: "the program " + s.Of}, nil)
	case "model":
		r, ok := c.replies[s.Of]
		if !ok {
			return c.link(text, &link{Text: "the model, " + s.Of}, nil)
		}
		l := &link{Text: fmt.Sprintf("the model, %s: a program by one that has seen", s.Of), Label: r.Context.String()}
		return c.link(text, l, func() []*link { return c.seen(s, r, depth+1) })
	}
	return c.link(text, &link{Text: text}, nil)
}

// giver is the last call that gave something from a source; -1 if there is none.
func (c *chains) giver(s label.Source) int {
	for i := len(c.results) - 1; i >= 0; i-- {
		if c.results[i].tool == s.Tool && slices.Contains(c.results[i].sources, s) {
			return i
		}
	}
	return -1
}

// args tells of the arguments of a call.
func (c *chains) args(call string, depth int) []*link {
	var out []*link
	for _, a := range c.made[call].Args {
		l := a.Value.Deep()
		if len(l.Sources()) == 0 && len(l.Grants()) == 0 {
			continue
		}
		shown := console.Hidden(l)
		if c.may(l) {
			shown = a.Value.Text()
			if r := []rune(shown); len(r) > maxShown {
				shown = string(r[:maxShown]) + "…"
			}
		}
		from := c.from(l, depth)
		out = append(out, &link{Text: a.Name + " = " + shown, Label: l.String(), From: from})
	}
	return out
}

// seen tells of what a model was shown before it replied: its observations, the latest first, and what was there before them.
func (c *chains) seen(self label.Source, r reply, depth int) []*link {
	var out []*link
	covered := map[label.Source]bool{self: true}
	for i := r.seen - 1; i >= 0; i-- {
		o := c.observed[i]
		fresh := slices.ContainsFunc(o.Label.Sources(), func(s label.Source) bool { return !covered[s] })
		if !fresh {
			continue
		}
		for _, s := range o.Label.Sources() {
			covered[s] = true
		}
		l := &link{Text: "shown: " + o.Name, Call: o.call, Label: o.Label.String()}
		out = append(out, c.link("shown "+o.call, l, func() []*link { return c.from(o.Label, depth) }))
	}
	var rest []label.Source
	for _, s := range r.Context.Sources() {
		if !covered[s] {
			rest = append(rest, s)
		}
	}
	return append(out, c.sources(rest, depth)...)
}

// last leaves out the sources that others among them lead to.
func (c *chains) last(sources []label.Source) []label.Source {
	var out []label.Source
	for i, s := range sources {
		explained := slices.ContainsFunc(sources, func(t label.Source) bool { return t != s && c.before(t)[s] && !c.before(s)[t] })
		mutual := slices.ContainsFunc(sources[:i], func(t label.Source) bool { return c.before(t)[s] && c.before(s)[t] })
		if !explained && !mutual {
			out = append(out, s)
		}
	}
	return out
}

// before are the sources that a source leads to, one after the other.
func (c *chains) before(s label.Source) map[label.Source]bool {
	if known, ok := c.reach[s]; ok {
		return known
	}
	all := map[label.Source]bool{}
	c.reach[s] = all
	queue := c.steps(s)
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if !all[t] {
			all[t] = true
			queue = append(queue, c.steps(t)...)
		}
	}
	return all
}

// steps are the sources that a source directly leads to.
func (c *chains) steps(s label.Source) []label.Source {
	if s.Tool == "model" {
		r, ok := c.replies[s.Of]
		if !ok {
			return nil
		}
		return r.Context.Sources()
	}
	i := c.giver(s)
	if i < 0 {
		return nil
	}
	var out []label.Source
	for _, a := range c.made[c.results[i].call].Args {
		out = append(out, a.Value.Deep().Sources()...)
	}
	return out
}

func sourceText(s label.Source) string {
	return label.Bottom().WithSources(s).Explain(1)
}
