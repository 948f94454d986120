package eval

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"callgate/engine/label"
	"callgate/engine/value"
)

// lowLabel is that of the author of programs, and of what everybody sees.
var lowLabel = label.New(label.User, label.Public(), nil)

// niLabels are the labels of inputs: for each observer some that are hidden from
// him, incomparable ones among them.
var niLabels = []label.Label{
	label.New(label.User, label.Only("ann"), nil),
	label.New(label.Internal, label.Only("bob"), nil),
	label.New(label.Internal, label.Public(), nil),
	label.New(label.Untrusted, label.Public(), []string{"pii"}),
	label.New(label.Untrusted, label.Only("ann", "bob"), nil),
	label.New(label.User, label.Public(), []string{"secret"}),
	label.New(label.User, label.Only("ann", "eve"), []string{"pii"}),
}

// group is what varies together: numbers under one label.
type group struct {
	lab  label.Label
	vals []int64
}

// The groups of a run's inputs. Those up to gStruct have one number each; the others up to three, as many as there are elements.
const (
	gS1 = iota
	gS2
	gS3
	gX1
	gX2
	gB1
	gMl               // three elements of a list
	gMd     = gMl + 3 // three values of a dict
	gHt     = gMd + 3 // two elements of a tuple
	gHr     = gHt + 2 // two fields of a struct
	gKind   = gHr + 2 // kinds of three mails
	gBody   = gKind + 3
	gStream = gBody + 3   // what recv returns
	gHl     = gStream + 8 // a list whose structure is labelled
	gHd     = gHl + 1
	gHs     = gHd + 1
	gRl     = gHs + 1 // a list whose reference is labelled
	gRd     = gRl + 1
	gInbox  = gRd + 1 // which mails there are
	gTags   = gInbox + 1
	groups  = gTags + 1
)

// niInputs is what a run is given.
type niInputs struct {
	g    [groups]group
	deny label.Label // the host refuses the builtin denied on what does not flow there
	what string      // "" if it refuses none
}

var small = [...][]int64{{0}, {1}, {2}, {3}}

func randomVals(r *rand.Rand, i int) []int64 {
	if i < gHl {
		return small[r.IntN(4)]
	}
	out := make([]int64, r.IntN(4))
	for j := range out {
		out[j] = r.Int64N(4)
	}
	return out
}

// randomInputs makes inputs, so many of 100 of which are low.
func randomInputs(r *rand.Rand, low int) niInputs {
	var in niInputs
	few := r.Perm(len(niLabels))[:1+r.IntN(3)]
	for i := range in.g {
		l := lowLabel
		if r.IntN(100) >= low {
			l = niLabels[few[r.IntN(len(few))]]
		}
		in.g[i] = group{l, randomVals(r, i)}
	}
	in.g[gS3].lab = in.g[gS1].lab.Join(in.g[gS2].lab)
	if r.IntN(8) == 0 {
		in.what, in.deny = decided[1+r.IntN(len(decided)-1)], lowLabel.Join(niLabels[r.IntN(len(niLabels))])
	}
	return in
}

// vary changes what the observer does not see of the groups that a program uses, and returns who sees a change.
func (in *niInputs) vary(r *rand.Rand, o observer, used *[groups]bool) (niInputs, crowd) {
	out := *in
	var who crowd
	all := r.IntN(2) == 0
	for i := range out.g {
		g := &out.g[i]
		if s := seenBy(g.lab); used[i] && s&o.bit == 0 && (all || r.IntN(2) == 0) {
			g.vals = randomVals(r, i)
			if !slices.Equal(g.vals, in.g[i].vals) {
				who |= s
			}
		}
	}
	return out, who
}

// groupsOf are the groups of inputs by what a program names to have them.
var groupsOf = map[string][2]int{
	"s1": {gS1, gS1}, "s2": {gS2, gS2}, "s3": {gS3, gS3}, "x1": {gX1, gX1}, "x2": {gX2, gX2}, "b1": {gB1, gB1}, "ml": {gMl, gMl + 2}, "md": {gMd, gMd + 2}, "ht": {gHt, gHt + 1}, "hr": {gHr, gHr + 1},
	"hl": {gHl, gHl}, "hd": {gHd, gHd}, "hs": {gHs, gHs}, "rl": {gRl, gRl}, "rd": {gRd, gRd}, "mail": {gKind, gBody + 2}, "inbox": {gKind, gBody + 2}, "recv": {gStream, gStream + 7}, "poll": {gStream, gStream + 7},
}

// uses says which groups of inputs the program may read.
func (p *niProgram) uses() (used [groups]bool) {
	for _, c := range p.turns {
		if c == nil {
			continue
		}
		for _, n := range c.names {
			if g, ok := groupsOf[n]; ok {
				for i := g[0]; i <= g[1]; i++ {
					used[i] = true
				}
			}
			if n == "mail" || n == "inbox" {
				used[gTags], used[gInbox] = true, true
			}
		}
	}
	return used
}

// inputNames are the names of inputs, in the order of [niInputs.input].
var inputNames = []string{"s1", "s2", "s3", "x1", "x2", "b1", "ml", "md", "ht", "hr", "hl", "hd", "hs", "rl", "rd"}

// someTexts are the values of x1 and x2, four of each; bodyTexts those of the bodies of mails.
var (
	someTexts = [...]string{"", "a", "1a", "Ab1", "[1]", "1", "{\"p\": 2}", "null"}
	bodyTexts = [...]string{"", "a", "1a", "[1]"}
)

// input makes an input.
func (in *niInputs) input(name string) value.Value {
	num := func(i int) value.Value { return value.IntOf(in.g[i].vals[0], in.g[i].lab) }
	text := func(i int) value.Value {
		return value.StringOf(someTexts[in.g[i].vals[0]+4*int64(i-gX1)], in.g[i].lab)
	}
	list := func(first, n int) []value.Value {
		var out []value.Value
		for i := first; i < first+n; i++ {
			out = append(out, num(i))
		}
		return out
	}
	seq := func(k value.Kind, i int) value.Value {
		v := value.Value{Kind: k, Label: lowLabel, Structure: in.g[i].lab}
		had := map[int64]bool{}
		for j, n := range in.g[i].vals {
			if k != value.List && had[n] {
				continue
			}
			had[n] = true
			if k == value.Dict {
				v.Keys = append(v.Keys, value.StringOf(string(rune('p'+n)), lowLabel))
				n = int64(j)
			}
			v.Items = append(v.Items, value.IntOf(n, lowLabel))
		}
		return v
	}
	names := func(names ...string) []value.Value {
		var out []value.Value
		for _, n := range names {
			out = append(out, value.StringOf(n, lowLabel))
		}
		return out
	}
	switch name {
	case "s1":
		return num(gS1)
	case "s2":
		return num(gS2)
	case "s3":
		return num(gS3)
	case "x1":
		return text(gX1)
	case "x2":
		return text(gX2)
	case "b1":
		return value.BoolOf(in.g[gB1].vals[0] > 1, in.g[gB1].lab)
	case "ml":
		return value.ListOf(lowLabel, list(gMl, 3)...)
	case "md":
		return value.Value{Kind: value.Dict, Label: lowLabel, Structure: lowLabel, Keys: names("p", "q", "r"), Items: list(gMd, 3)}
	case "ht":
		return value.Value{Kind: value.Tuple, Label: lowLabel, Structure: label.Bottom(), Items: list(gHt, 2)}
	case "hr":
		return value.Value{Kind: value.Record, Label: lowLabel, Structure: label.Bottom(), Keys: names("a", "c"), Items: list(gHr, 2)}
	case "hl":
		return seq(value.List, gHl)
	case "hd":
		return seq(value.Dict, gHd)
	case "hs":
		return seq(value.Set, gHs)
	case "rl":
		v := value.ListOf(in.g[gRl].lab)
		v.Structure = lowLabel
		for _, n := range in.g[gRl].vals {
			v.Items = append(v.Items, value.IntOf(n, lowLabel))
		}
		return v
	}
	v := value.Value{Kind: value.Dict, Label: in.g[gRd].lab, Structure: lowLabel} // rd
	for i, n := range in.g[gRd].vals {
		v.Keys = append(v.Keys, value.IntOf(int64(i), lowLabel))
		v.Items = append(v.Items, value.IntOf(n, lowLabel))
	}
	return v
}

// mail is a tool's answer whose fields have labels of their own.
func (in *niInputs) mail(i int64, under label.Label) value.Value {
	kind, body := in.g[gKind+i], in.g[gBody+i]
	v := value.DictOf(under,
		value.Field{Name: "id", Of: value.IntOf(i, under)},
		value.Field{Name: "kind", Of: value.IntOf(kind.vals[0], kind.lab.Join(under))},
		value.Field{Name: "flag", Of: value.BoolOf(kind.vals[0] > 1, kind.lab.Join(under))},
		value.Field{Name: "body", Of: value.StringOf(bodyTexts[body.vals[0]], body.lab.Join(under))},
	)
	n, l := kind.vals[0], kind.lab.Join(under)
	some := []value.Value{value.IntOf(5, under), value.IntOf(6, under), value.IntOf(7, under)}[:n]
	names := []value.Value{value.StringOf("a", under), value.StringOf("b", l), value.StringOf("c", under)}[:n]
	pair := func(whole label.Label, a, b int64) value.Value {
		return value.Value{Kind: value.Tuple, Items: []value.Value{value.IntOf(a, under), value.IntOf(b, l)}, Label: whole, Structure: under}
	}
	for _, f := range []value.Field{
		{Name: "rate", Of: value.Value{Kind: value.Float, Float: float64(n) / 2, Label: l}},
		{Name: "raw", Of: value.Value{Kind: value.Bytes, Str: bodyTexts[n], Label: l}},
		{Name: "big", Of: value.Value{Kind: value.Int, Int: new(big.Int).Lsh(big.NewInt(n), 70), Label: l}},
		{Name: "some", Of: value.Value{Kind: value.Tuple, Items: some, Label: under, Structure: l}},
		{Name: "rec", Of: value.Value{Kind: value.Record, Keys: names, Items: some, Label: under, Structure: l}},
		{Name: "one", Of: value.Value{Kind: value.Record, Keys: []value.Value{value.StringOf(string(rune('a'+n)), l)}, Items: []value.Value{value.IntOf(1, under)}, Label: under, Structure: under}},
		{Name: "by", Of: value.Value{Kind: value.Dict, Keys: []value.Value{value.IntOf(n, l)}, Items: []value.Value{value.IntOf(1, under)}, Label: under, Structure: under}},
		{Name: "ways", Of: value.Value{Kind: value.Dict, Keys: []value.Value{pair(under, 1, n)}, Items: []value.Value{value.IntOf(1, under)}, Label: under, Structure: under}},
		{Name: "pair", Of: pair(l, n, n)},
		{Name: "mark", Of: value.Value{Kind: value.Record, Keys: []value.Value{value.StringOf("a", under)}, Items: []value.Value{value.IntOf(n, under)}, Label: l, Structure: under}},
		{Name: "group", Of: value.Value{Kind: value.Set, Items: []value.Value{value.IntOf(n, under)}, Label: l, Structure: under}},
	} {
		v.Keys, v.Items = append(v.Keys, value.StringOf(f.Name, under)), append(v.Items, f.Of)
	}
	tags := value.ListOf(under)
	tags.Structure = in.g[gTags].lab.Join(under)
	for _, n := range in.g[gTags].vals {
		tags.Items = append(tags.Items, value.IntOf(n, tags.Structure))
	}
	v.Keys, v.Items = append(v.Keys, value.StringOf("tags", under)), append(v.Items, tags)
	return v
}

// event is something that an observer may see. who sees that it happened; what is in args he sees as their labels say.
type event struct {
	who  crowd
	what string
	site Site
	pc   label.Label
	hist crowd // of the record of calls
	args []Arg

	asked    bool         // whether a builtin may be called
	ended    bool         // a turn
	released *value.Value // what an endorsement let through
}

// niHost has tools that record, fail, count the calls before, refuse, and answer with labelled
// data; it grants some endorsements. Whatever it is asked is an event.
type niHost struct {
	in     *niInputs
	s      *Session
	events []event
	calls  int64
	recvd  int

	printed int // prints are events in the order of the program
}

func (h *niHost) flush(prints []Print) {
	for _, p := range prints[h.printed:] {
		args := []Arg{{"text", value.StringOf(p.Text, p.Label)}}
		for _, a := range p.Args {
			args = append(args, Arg{"arg", a})
		}
		h.events = append(h.events, event{who: seenBy(p.PC), what: "print", site: p.Site, pc: p.PC, args: args})
	}
	h.printed = len(prints)
}

func (h *niHost) Do(_ context.Context, calls []Call) []Result {
	h.flush(h.s.printed)
	out := make([]Result, len(calls))
	for i, c := range calls {
		h.events = append(h.events, event{who: seenBy(c.PC), what: c.Tool, site: c.Site, pc: c.PC, hist: seenBy(c.History), args: c.Args})
		e := &h.events[len(h.events)-1]
		if c.Kind == KindBuiltin {
			// Whether the question is put depends on those put before, on the same class: all
			// of this is known to those who see the class.
			e.who, e.site, e.hist, e.asked = seenBy(c.Args[0].Value.Label), Site{}, 0, true
			if c.Tool == h.in.what && !c.Args[0].Value.Label.FlowsTo(h.in.deny) {
				out[i].Err = &CallError{Code: "denied", Deny: true, Label: lowLabel}
			}
			continue
		}
		deep := c.PC
		for _, a := range c.Args {
			deep = deep.Join(a.Value.Deep())
		}
		out[i] = h.act(c, deep)
		h.calls++
		if r := out[i]; r.Err == nil && (c.Kind == KindEndorse || c.Kind == KindDeclassify) {
			e.released = &r.Value
		}
	}
	return out
}

func (h *niHost) act(c Call, deep label.Label) Result {
	arg := func(name string) value.Value {
		for _, a := range c.Args {
			if a.Name == name {
				return a.Value
			}
		}
		return value.NoneOf(label.Bottom())
	}
	// Of a refusal the evaluator itself knows that it depends on the arguments.
	refuse := func(code string, deny, wait bool) Result {
		return Result{Err: &CallError{Code: code, Deny: deny, Final: wait, Wait: wait, Label: lowLabel}}
	}
	switch c.Tool {
	case "quota":
		return Result{Value: value.BoolOf(h.calls < 3, c.History.Join(c.PC))}
	case "recv":
		g := h.in.g[gStream+h.recvd%8]
		h.recvd++
		if l := g.lab.Join(c.PC).Join(c.History); g.vals[0] == 0 {
			return Result{Value: value.NoneOf(l)}
		} else {
			return Result{Value: value.IntOf(g.vals[0], l)}
		}
	case "div":
		a, b := arg("a"), arg("b")
		if a.Kind != value.Int || b.Kind != value.Int || b.Int.Sign() == 0 {
			return refuse("division", false, false)
		}
		return Result{Value: value.IntOf(new(big.Int).Quo(a.Int, b.Int).Int64(), deep)}
	case "pay":
		if deep.Trust() < label.Internal || deep.HasTag("pii") {
			return refuse("denied", true, false)
		}
		return Result{Value: value.IntOf(1, deep)}
	case "look": // what it answers depends on nothing, but not whether it does
		x := arg("x")
		if x.Kind == value.List && len(x.Items) > 0 {
			x = x.Items[0]
		}
		if x.Kind != value.Int || x.Int.Bit(0) == 1 {
			return refuse("odd", false, false)
		}
		return Result{Value: value.IntOf(7, lowLabel)}
	case "ask":
		return refuse("waiting", false, true)
	case "poll": // what it is about is not for everybody, nor is that it refuses
		g := h.in.g[gStream+h.recvd%8]
		h.recvd++
		l := g.lab.Join(c.PC).Join(c.History)
		if g.vals[0] == 0 {
			return Result{Err: &CallError{Code: "closed", Label: l}}
		}
		return Result{Value: value.IntOf(1, l)}
	case "done":
		if x := arg("value"); x.Kind == value.List && len(x.Items) > 0 && x.Items[0].Kind == value.Int && x.Items[0].Int.Bit(0) == 1 {
			return refuse("odd", true, false)
		}
		return Result{Value: value.NoneOf(deep)}
	case "mail":
		x := arg("x")
		i := int64(0)
		if x.Kind == value.Int && x.Int.IsInt64() {
			i = (x.Int.Int64()%3 + 3) % 3
		}
		return Result{Value: h.in.mail(i, deep.Join(lowLabel))}
	case "inbox":
		v := value.ListOf(c.PC)
		v.Structure = h.in.g[gInbox].lab.Join(c.PC)
		for _, n := range h.in.g[gInbox].vals {
			v.Items = append(v.Items, h.in.mail(n%3, c.PC))
		}
		return Result{Value: v}
	case "endorse":
		v, asked := arg("value"), arg("trust")
		trust, err := label.ParseTrust(asked.Str)
		narrow := v.Kind == value.Bool || v.Kind == value.Int && v.Int.BitLen() <= 2
		for _, x := range arg("options").Items {
			narrow = narrow && (x.Kind != value.Int || x.Int.Bit(0) == 0)
		}
		if err != nil || c.PC.Trust() < trust || !narrow {
			return refuse("denied", true, false)
		}
		return Result{Value: v.Relabel(func(l label.Label) label.Label { return l.WithTrust(max(l.Trust(), trust)) })}
	case "declassify":
		v, asked := arg("value"), arg("readers")
		var names []string
		for _, x := range asked.Items {
			names = append(names, x.Str)
		}
		if v.Deep().Join(c.PC).Trust() < label.Internal || len(names) == 0 {
			return refuse("denied", true, false)
		}
		return Result{Value: v.Relabel(func(l label.Label) label.Label { return l.WithReaders(label.Only(names...)) })}
	}
	return Result{Value: value.NoneOf(deep)}
}

var niTools = []ToolSig{
	{Name: "send", Params: []string{"x", "y"}}, {Name: "recv"}, {Name: "poll"}, {Name: "quota"}, {Name: "div", Params: []string{"a", "b"}},
	{Name: "pay", Params: []string{"x"}}, {Name: "ask", Params: []string{"x"}}, {Name: "look", Params: []string{"x", "y"}}, {Name: "mail", Params: []string{"x"}}, {Name: "inbox"},
}

// niProgram is a session's turns, compiled, and what they name.
type niProgram struct {
	turns  []*Program
	errs   []error // of turns that do not compile
	inputs []string
}

// rejected is how a turn begins that is not to compile.
const rejected = "# does not compile\n"

var compiledPrelude = sync.OnceValues(func() (*Program, error) { return Compile("t1", []byte(prelude), Env{}) })

// compileTurns compiles the turns of a session in which the inputs can be named.
func compileTurns(turns []string, known []string) (*niProgram, error) {
	p := &niProgram{}
	globals, pre, used := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range niTools {
		pre[t.Name] = true
	}
	for _, n := range known {
		pre[n] = true
	}
	env := Env{
		Globals:     func(n string) bool { return globals[n] },
		Predeclared: func(n string) bool { return pre[n] },
	}
	for i, text := range turns {
		var c *Program
		var err error
		if text == prelude && (mutants.now == nil || *mutants.now == 0) {
			c, err = compiledPrelude()
		} else {
			c, err = Compile(fmt.Sprintf("t%d", i+1), []byte(text), env)
		}
		if strings.HasPrefix(text, rejected) && err != nil {
			p.turns, p.errs = append(p.turns, nil), append(p.errs, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		p.errs = append(p.errs, nil)
		for _, g := range c.globals {
			globals[g] = true
		}
		for _, n := range c.names {
			used[n] = true
		}
		p.turns = append(p.turns, c)
	}
	for _, n := range known {
		if used[n] {
			p.inputs = append(p.inputs, n)
		}
	}
	return p, nil
}

// instead compiles turns that may be there instead of those of p: sessions of both are given the same.
func (p *niProgram) instead(turns []string) (*niProgram, error) {
	q, err := compileTurns(turns, inputNames)
	if err != nil {
		return nil, err
	}
	for _, n := range q.inputs {
		if !slices.Contains(p.inputs, n) {
			p.inputs = append(p.inputs, n)
		}
	}
	q.inputs = p.inputs
	return q, nil
}

// trace is a session that has ended.
type trace struct {
	s      *Session
	events []event // the end of each turn is one
	ends   []Outcome
	dead   crowd // observers who cannot tell to the end what happened
	seen   map[label.ClassID]crowd
}

// niLimits are small: programs that outgrow them say little.
var niLimits = Limits{Steps: 6000, Calls: 60, Memory: 4 << 20, Depth: 24}

// run runs the turns, each written by somebody; again says that the session is made again from a snapshot after each.
func (p *niProgram) run(inputs []Input, in *niInputs, again bool, authors ...label.Label) (*trace, error) {
	h := &niHost{in: in}
	config := Config{Host: h, Tools: niTools, Inputs: inputs, Limits: niLimits}
	s, err := NewSession(config)
	if err != nil {
		return nil, err
	}
	h.s = s
	tr := &trace{seen: map[label.ClassID]crowd{}}
	for i, c := range p.turns {
		author := lowLabel
		if i < len(authors) {
			author = authors[i]
		}
		var o Outcome
		if c == nil {
			o = s.Reject(p.errs[i], fmt.Sprintf("t%d", i+1), author)
		} else if o, err = s.Run(context.Background(), c, author); err != nil {
			return nil, err
		}
		if o.Status == Crashed {
			return nil, fmt.Errorf("crash: %s", o.Err.Detail)
		}
		h.flush(o.Prints)
		h.printed = 0
		tr.ends = append(tr.ends, o)
		end := event{who: seenBy(o.Floor), what: "end " + string(o.Status), ended: true}
		if e := o.Err; e != nil {
			end.what += " " + e.Public() + " " + e.Text + " " + e.Hint + fmt.Sprint(e.Stack)
			end.who = seenBy(e.Label)
			if e.Status == Limited {
				tr.dead = everybody
			}
		}
		h.events = append(h.events, end)
		if again {
			b, err := s.Snapshot(0)
			if err != nil {
				return nil, err
			}
			if s, err = Restore(config, b); err != nil {
				return nil, err
			}
			h.s = s
		}
	}
	tr.s, tr.events = s, h.events
	tr.dead |= everybody &^ seenBy(s.Floor())
	return tr, nil
}

// values are all inputs.
func (in *niInputs) values() []Input {
	var out []Input
	for _, n := range inputNames {
		out = append(out, Input{n, in.input(n)})
	}
	return out
}

// runGiven runs the program on the inputs that it names.
func (p *niProgram) runGiven(in *niInputs, authors []label.Label, again bool) (*trace, error) {
	inputs := make([]Input, len(p.inputs))
	for i, n := range p.inputs {
		inputs[i] = Input{n, in.input(n)}
	}
	return p.run(inputs, in, again, authors...)
}
