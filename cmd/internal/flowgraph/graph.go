// Package flowgraph draws how data flowed between the calls of a run: from inputs and results into arguments, to the model, and to
// the user, with the labels that it had, and where it was stopped.
//
// [New] reads a run's events. [Graph.SVG] draws the picture by itself, in columns from left to right; [Graph.DOT] and [Graph.Mermaid] write it for
// programs that draw. The same events give the same bytes. Names and values are escaped in each format: nothing in
// a run can become markup, and nothing in a picture runs.
package flowgraph

import (
	"fmt"
	"slices"
	"strings"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// kind is what a node stands for.
type kind uint8

const (
	input  kind = iota
	source      // something outside that no call of the run read
	turn        // a program, or the model that wrote it
	call        // of a tool
	raised      // an endorsement, or a declassification
	answer      // what the user gets
)

// state is what became of a call.
type state uint8

const (
	done state = iota
	refused
	failed
	waiting
	unknown // it was begun, and no result is recorded
)

var stateNames = [...]string{"", "refused", "failed", "waiting", "no result"}

// row is one argument of a call, or one thing that a model was shown.
type row struct {
	path, value string
	label       label.Label
	rules       []string // that refused
}

// node is a box.
type node struct {
	n      int // from 0, in the order of the run
	kind   kind
	state  state
	during *node // the turn that it happened in; nil: in none
	name   string
	calls  []string // ids, if it stands for calls
	rows   []row
	notes  []string // rules that are about no argument, for people
	tip    []string // more, line by line

	before before // those that data in it went through

	layout box
}

// before is a set of nodes, by their numbers.
type before [maxNodes/64 + 1]uint64

func (s *before) has(n *node) bool { return s[n.n/64]&(1<<(n.n%64)) != 0 }

// flow says what an edge is.
type flow uint8

const (
	data    flow = iota // from a result into an argument
	granted             // an endorsement that what comes after depends on
	order               // no data: what comes after what
)

// edge is an arrow into a row of a node, or to its head.
type edge struct {
	from, to *node
	row      int // -1: the head
	flow     flow
	trust    label.Trust
	sources  []string // in words
	refused  bool
}

// Graph is the flow of data in one run.
type Graph struct {
	title string
	nodes []*node
	edges []*edge
	more  bool // there was too much to draw
}

// The bounds of a picture.
const (
	maxRows  = 8    // of a node
	maxName  = 64   // characters
	maxValue = 200  // of a value in full
	maxNodes = 1000 // past it, what happened later is left out
	alike    = 4    // as many calls of a tool after each other that only read are one node
)

// builder makes a graph.
type builder struct {
	Graph
	may    func(label.Label) bool
	calls  map[string]*about
	order  []*about
	givers map[label.Source]*node
	turn   *node // that runs
	seen   []observed
	links  map[link]*edge
	used   map[string]bool // endorsements that a call depends on, drawn
}

// link is what makes an edge one.
type link struct {
	from, to, row int
	flow          flow
}

// observed is something that the model was shown, or not.
type observed struct {
	row
	stopped bool
}

// New reads the events of a run, as somebody sees them who may read what may says. Events that cannot be read are left out.
func New(events []journal.Event, may func(label.Label) bool) *Graph {
	b := &builder{may: may, calls: map[string]*about{}, givers: map[label.Source]*node{}, links: map[link]*edge{}, used: map[string]bool{}}
	b.read(events)
	b.group()
	for _, e := range events {
		if !e.Redacted() {
			b.event(e)
		}
	}
	if len(b.seen) > 0 {
		b.program(&node{kind: turn, name: "model"}, label.Bottom())
	}
	return &b.Graph
}

// event adds what an event tells of.
func (b *builder) event(e journal.Event) {
	a := b.calls[e.Call]
	switch e.Type {
	case journal.RunStart:
		if p, err := journal.Decode[journal.RunStarted](e); err == nil {
			b.title = "run " + e.Run + " of " + p.Agent
			for _, in := range p.Inputs {
				n := b.add(&node{kind: input, name: "input " + in.Name, rows: []row{b.row("", in.Value)}})
				b.givers[label.Source{Tool: "input", Of: in.Name}] = n
			}
		}
	case journal.TurnStart:
		if p, err := journal.Decode[journal.TurnStarted](e); err == nil {
			n := &node{kind: turn, name: fmt.Sprintf("turn %d", p.Turn), notes: []string{"by " + p.Author.Trust().String()}, tip: []string{p.File, "written by " + p.Author.String()}}
			b.program(n, p.Author)
			b.givers[label.Source{Tool: "model", Of: fmt.Sprintf("turn %d", p.Turn)}] = n
			b.givers[label.Source{Tool: "program", Of: p.File}] = n
		}
	case journal.Decided:
		if a != nil && a.made != nil {
			b.decided(a)
		}
	case journal.CallResult:
		if a != nil && a.node != nil && a.ended != nil && a.ended.Value != nil {
			b.gives(a.node, *a.ended.Value, a.ended.Tool, 0)
		}
	case journal.Observation:
		if p, err := journal.Decode[journal.Observed](e); err == nil {
			b.observe(a, p)
		}
	}
}

// add adds a node, up to a bound.
func (b *builder) add(n *node) *node {
	if n.n = len(b.nodes); n.n == maxNodes {
		b.more = true
		return n
	}
	b.nodes = append(b.nodes, n)
	return n
}

// row is a row for a value.
func (b *builder) row(path string, v value.Value) row {
	return row{path: path, value: console.Value(v, b.may), label: v.Deep()}
}

// program adds a program. What its author was shown since the last one flows into it.
func (b *builder) program(n *node, author label.Label) {
	b.add(n)
	if b.turn != nil {
		b.link(&edge{from: b.turn, to: n, row: -1, flow: order})
		n.passes(b.turn)
	}
	for _, o := range b.seen {
		at := len(n.rows)
		if at >= maxRows {
			at = maxRows - 1
			n.rows[at] = row{path: "and more", label: n.rows[at].label.Join(o.label)}
		} else {
			n.rows = append(n.rows, o.row)
		}
		b.flows(n, at, o.label, o.stopped)
	}
	b.flows(n, -1, author, false)
	b.seen, b.turn = nil, n
}

// observe takes note of what the next program's author was shown or not.
func (b *builder) observe(a *about, p journal.Observed) {
	o := observed{row: row{path: p.Name, value: p.Text, label: p.Label}}
	if !p.Shown {
		o.value = "hidden from the model"
		if a != nil && a.state == refused {
			o.stopped, o.rules = true, rulesOf(a.made.Decision)
		} else {
			return // only its description was: no data of it
		}
	} else if !b.may(p.Label) {
		o.value = console.Hidden(p.Label)
	}
	b.seen = append(b.seen, o)
}

// decided adds a call.
func (b *builder) decided(a *about) {
	d := a.made
	n := a.node
	switch {
	case n != nil && n.n < 0: // the first of a group
		b.add(n)
		n.name = d.Tool
	case n != nil && len(n.calls) == 1:
		return // decided again
	case n == nil:
		switch d.Kind {
		case policies.KindObserve:
			return
		case policies.KindBuiltin, policies.KindProgram:
			if a.state != refused {
				return
			}
		}
		n = b.add(&node{kind: call, name: d.Tool, state: a.state, calls: []string{a.id}})
		a.node = n
		switch d.Kind {
		case policies.KindAnswer:
			n.kind = answer
		case policies.KindEndorse, policies.KindDeclassify:
			n.kind = raised
		}
	}
	n.during = b.turn
	b.describe(n, a)
	into := len(b.edges)
	b.arguments(n, a)
	if len(b.edges) == into && b.turn != nil {
		b.link(&edge{from: b.turn, to: n, row: -1, flow: order})
		n.passes(b.turn)
	}
	b.grants(n, d)
}

// describe writes the tip and the notes of a call.
func (b *builder) describe(n *node, a *about) {
	d := a.made
	tip := a.id + " " + d.Tool
	if name := stateNames[a.state]; name != "" {
		tip += ", " + name
	}
	if d.Site.File != "" {
		tip += fmt.Sprintf("  %s:%d:%d", d.Site.File, d.Site.Line, d.Site.Column)
	}
	n.tip = append(n.tip, tip)
	for _, arg := range d.Args {
		n.tip = append(n.tip, arg.Name+" = "+cut(console.Value(arg.Value, b.may), maxValue)+"  "+arg.Value.Deep().String())
	}
	for _, r := range d.Decision.Reasons {
		if r.Effect == policies.Deny && !r.Audit && !r.Accept {
			text := "refused by " + r.ID
			if r.Message != "" {
				text += ": " + r.Message
			}
			n.tip = append(n.tip, text)
			if len(r.Args) == 0 && !slices.Contains(n.notes, r.ID) {
				n.notes = append(n.notes, r.ID)
			}
		}
	}
	n.tip = append(n.tip, a.asked...)
	if a.state == waiting || a.state == refused && d.Decision.Effect == policies.Ask {
		for _, ask := range d.Decision.Approvals {
			if !slices.Contains(n.notes, ask.Ask) {
				n.notes = append(n.notes, ask.Ask)
			}
		}
	}
	if g := a.lifts; g != nil {
		from, to := g.From.Trust().String(), g.To.Trust().String()
		if g.Kind == policies.KindDeclassify {
			from, to = g.From.String(), g.To.String()
		}
		unit := "bits"
		if g.Bits == 1 {
			unit = "bit"
		}
		n.notes = append(n.notes, fmt.Sprintf("%s to %s, %d %s", from, to, g.Bits, unit))
	}
	if a.ended != nil && a.state == failed {
		n.notes = append(n.notes, a.ended.Code)
	}
}

// arguments adds the rows of a call, and what flows into them.
func (b *builder) arguments(n *node, a *about) {
	d := a.made
	stops := map[string][]string{} // by path
	for _, r := range d.Decision.Reasons {
		if r.Effect == policies.Deny && !r.Audit && !r.Accept {
			for _, path := range r.Args {
				stops[path] = append(stops[path], r.ID)
			}
		}
	}
	put := func(r row, from label.Label) {
		r.rules = stops[r.path]
		b.put(n, r, from, a.state == refused && len(r.rules) > 0)
	}
	for _, arg := range d.Args {
		if n.kind == raised && arg.Name != "value" && stops[arg.Name] == nil {
			continue
		}
		parts := 0
		arg.Value.Walk(true, func(path string, v value.Value, l label.Label) {
			if path = arg.Name + path; path != arg.Name && stops[path] != nil {
				v.Label = l
				put(row{path: path, value: console.Value(v, b.may), label: l}, l)
				parts++
			}
		})
		if parts == 0 || parts < len(arg.Value.Items) || stops[arg.Name] != nil {
			put(b.row(arg.Name, arg.Value), arg.Value.Deep())
		}
	}
	if stops["pc"] != nil {
		r := row{path: "pc", value: "that the call is made", label: d.PC}
		put(r, d.PC)
	}
}

// put adds a row to a node and what flows into it, unless nothing does and no rule is about it. A row of the name that is there is joined: the
// node stands for several calls.
func (b *builder) put(n *node, r row, from label.Label, stopped bool) {
	at := slices.IndexFunc(n.rows, func(o row) bool { return o.path == r.path })
	switch {
	case at >= 0:
		n.rows[at].label, n.rows[at].value = n.rows[at].label.Join(r.label), fmt.Sprintf("%d values", len(n.calls))
	case len(n.rows) == maxRows:
		at = maxRows - 1
		last := &n.rows[at]
		last.path, last.value, last.label, last.rules = "and more", "", last.label.Join(r.label), append(last.rules, r.rules...)
	default:
		at = len(n.rows)
		n.rows = append(n.rows, r)
	}
	b.flows(n, at, from, stopped)
}

// flows draws what flows into a row by the sources of its label: from the calls that gave it last. What came to them before is not
// drawn again.
func (b *builder) flows(n *node, at int, l label.Label, stopped bool) {
	var from []*node
	words := map[*node][]string{}
	for _, s := range l.Sources() {
		g := b.giver(s)
		if g == nil || g == n || at < 0 && n.before.has(g) { // a row has said so
			continue
		}
		if !slices.Contains(from, g) {
			from = append(from, g)
		}
		words[g] = append(words[g], label.Bottom().WithSources(s).Explain(1))
	}
	for _, g := range from {
		if slices.ContainsFunc(from, func(o *node) bool { return o != g && o.before.has(g) }) {
			continue
		}
		b.link(&edge{from: g, to: n, row: at, trust: l.Trust(), sources: words[g], refused: stopped})
	}
	for _, g := range from {
		n.passes(g)
	}
}

// passes notes that data went through a node before n.
func (n *node) passes(g *node) {
	n.before[g.n/64] |= 1 << (g.n % 64)
	for i, bits := range g.before {
		n.before[i] |= bits
	}
}

// giver is the node that something came from: one of its own if no call gave it.
func (b *builder) giver(s label.Source) *node {
	if n := b.givers[s]; n != nil {
		return n
	}
	if s.Tool == "agent" || s.Tool == "model" || s.Tool == "program" {
		return nil // who wrote the constants is said by the turn
	}
	n := b.add(&node{kind: source, name: label.Bottom().WithSources(s).Explain(1)})
	b.givers[s] = n
	return n
}

// gives notes that a result has sources of its own.
func (b *builder) gives(n *node, v value.Value, tool string, depth int) {
	for _, s := range v.Label.Sources() {
		if s.Tool == tool {
			b.givers[s] = n
		}
	}
	if depth > value.MaxDepth {
		return
	}
	for _, part := range v.Items {
		b.gives(n, part, tool, depth+1)
	}
}

// grants draws, for each endorsement that a call depends on, the first call that does: those after it do too.
func (b *builder) grants(n *node, d *journal.DecisionMade) {
	if n.kind == raised {
		return
	}
	all := d.PC
	for _, arg := range d.Args {
		all = all.Join(arg.Value.Deep())
	}
	for _, g := range all.Grants() {
		a := b.calls[g.Call]
		if a == nil || a.node == nil || b.used[g.Call] || a.node == n {
			continue
		}
		b.used[g.Call] = true
		b.link(&edge{from: a.node, to: n, row: -1, flow: granted, trust: g.Trust})
		n.passes(a.node)
	}
}

// link adds an edge, unless it is there. What happens goes on in time.
func (b *builder) link(e *edge) {
	if e.from.n == maxNodes || e.to.n == maxNodes || e.from.kind != source && e.from.n >= e.to.n {
		return
	}
	key := link{e.from.n, e.to.n, e.row, e.flow}
	o := b.links[key]
	if o == nil {
		b.links[key] = e
		b.edges = append(b.edges, e)
		return
	}
	o.refused, o.trust = o.refused || e.refused, min(o.trust, e.trust)
	for _, s := range e.sources {
		if !slices.Contains(o.sources, s) {
			o.sources = append(o.sources, s)
		}
	}
}

// rulesOf are the rules that refused.
func rulesOf(d policies.Decision) (ids []string) {
	for _, r := range d.Reasons {
		if r.Effect == policies.Deny && !r.Audit && !r.Accept && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// head is the name of a node: "2.2 payments.pay".
func (n *node) head() string {
	switch len(n.calls) {
	case 0:
		return n.name
	case 1:
		return n.calls[0] + " " + n.name
	}
	return fmt.Sprintf("%s-%s %s, %d calls", n.calls[0], n.calls[len(n.calls)-1], n.name, len(n.calls))
}

// says is what an edge carries, in words.
func (e *edge) says() string {
	var parts []string
	switch e.flow {
	case granted:
		parts = append(parts, "depends on the endorsement")
	case data:
		if e.row >= 0 && e.to.rows[e.row].path != "" {
			parts = append(parts, e.to.rows[e.row].path)
		}
		parts = append(parts, e.trust.String())
	}
	if e.refused {
		parts = append(parts, "refused by "+strings.Join(e.to.rows[e.row].rules, ", "))
	}
	if e.flow == data {
		parts = append(parts, some(e.sources, 4))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// some lists the first of names, and counts the others.
func some(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// cut shortens a text.
func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
