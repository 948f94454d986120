package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"callgate/engine/label"
)

// The decoders make the Go types of nodes that have been checked: what is not as its shape says is
// reported already, and gives a zero value here. What shapes cannot say is checked here.

// file is a file that documents are decoded from.
type file struct {
	*loader
	path string
	dir  string
	root string // includes stay below
	text []byte
}

// digest returns "sha256:…" of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (f *file) meta(n *node) Meta {
	name := n.get("metadata").get("name")
	m := Meta{Name: name.str(), Pos: f.kindPos(n), Named: name.at()}
	if labels := n.get("metadata").get("labels"); labels != nil && labels.kind == mapNode {
		m.Labels = map[string]string{}
		for i, k := range labels.keys {
			m.Labels[k.text] = labels.items[i].str()
		}
	}
	return m
}

func (f *file) kindPos(n *node) Position {
	if k := n.get("kind"); k != nil {
		return k.pos
	}
	return n.pos
}

func (f *file) agent(n *node) *Agent {
	s := n.get("spec")
	a := &Agent{
		Meta:         f.meta(n),
		Instructions: f.textOrFile(s.get("instructions")),
		Program:      f.existing(s.get("program")).Path,
		Mode:         s.get("mode").str(),
		Observe:      s.get("observe").str(),
		Isolation:    s.get("isolation").str(),
		Meter:        s.get("meter").integer32(counts),
		Limits:       f.limits(s.get("limits")),
		Tools:        f.uses(s.get("tools")),
		Returns:      s.get("returns").plain(nil),
		Toolsets:     f.refs(s.get("toolsets")),
		Dir:          f.dir,
		File:         f.path,
		Digest:       digest(f.text),
	}
	a.Model = f.model(s.get("model"))
	switch {
	case a.Mode != "":
	case s.get("program") != nil:
		a.Mode = "program"
	default:
		a.Mode = "react"
	}
	if a.Observe == "" {
		a.Observe = "hide-untrusted"
	}
	for _, r := range f.refs(s.get("policies")) {
		a.Policies = append(a.Policies, r.Path)
	}
	names := map[string]Position{}
	for _, in := range s.get("inputs").list() {
		a.Inputs = append(a.Inputs, f.input(in, names))
	}
	return a
}

// model reads a model, nil if there is none.
func (f *file) model(m *node) *Model {
	if m == nil {
		return nil
	}
	out := &Model{
		Provider:  m.get("provider").str(),
		Name:      m.get("name").str(),
		BaseURL:   m.get("baseURL").str(),
		Insecure:  m.get("insecure").truth(),
		Key:       f.secret(m.get("key")),
		Reply:     m.get("reply").str(),
		MaxTokens: m.get("maxTokens").quantity(counts),
		Timeout:   time.Duration(m.get("timeout").quantity(durations)),
		Recording: f.existing(m.get("recording")).Path,
		Pos:       m.pos,
	}
	if p := m.get("price"); p != nil {
		out.Price = &Price{
			In: p.get("in").quantity(amounts), Out: p.get("out").quantity(amounts),
			Cached: p.get("cached").quantity(amounts), Written: p.get("written").quantity(amounts),
		}
	}
	return out
}

func (f *file) secret(n *node) (s Secret) {
	if n != nil {
		s = Secret{Env: n.get("env").str(), File: f.resolve(n.get("file")).Path, Keyring: n.get("keyring").str(), Pos: n.pos}
	}
	return s
}

func (f *file) input(n *node, names map[string]Position) Input {
	in := Input{Name: n.get("name").str(), Private: n.get("readers") == nil, Pos: n.pos}
	f.once(names, "input", n.get("name"))
	if slices.Contains(reserved, in.Name) {
		f.problem(n.get("name").pos, "", "input %q: a word of the language cannot be a name", in.Name)
	}
	trust, _ := label.ParseTrust(n.get("trust").str()) // untrusted if there is none, or a wrong one
	in.Label = label.New(trust, label.Only(n.get("readers").strs()...), n.get("tags").strs())
	if d := n.get("default"); d != nil && d.kind == textNode {
		in.Default = &d.text
	}
	return in
}

// once reports a name that was there before.
func (f *file) once(names map[string]Position, what string, n *node) {
	if n.str() == "" {
		return
	}
	if at, twice := names[n.text]; twice {
		f.problem(n.pos, "", "%s %q: declared twice, first at %v", what, n.text, at)
		return
	}
	names[n.text] = n.pos
}

func (f *file) limits(n *node) Limits {
	return Limits{
		Steps:  n.get("steps").quantity(counts),
		Memory: n.get("memory").quantity(sizes),
		Wall:   time.Duration(n.get("wall").quantity(durations)),
		Calls:  n.get("calls").integer32(counts),
		Turns:  n.get("turns").integer32(counts),
		Output: n.get("output").quantity(sizes),
		Depth:  n.get("depth").integer32(counts),
		Tokens: n.get("tokens").quantity(counts),
		Money:  n.get("money").quantity(amounts),
	}
}

// quantity returns a number of at least 1, or 0 if there is none.
func (n *node) quantity(u unit) int64 {
	switch {
	case n == nil || n.odd != "":
		return 0
	case n.kind == intNode && u.number:
		return max(0, n.i)
	case (n.kind == intNode || n.kind == floatNode) && u.decimal:
		if v, err := u.parse(n.text); err == nil {
			return v
		}
	case n.kind == textNode:
		if v, err := u.parse(n.text); err == nil {
			return v
		}
	}
	return 0
}

// integer32 is quantity for what no sensible number of exceeds 2^31: more is that.
func (n *node) integer32(u unit) int { return int(min(n.quantity(u), math.MaxInt32)) }

func (f *file) uses(n *node) []Use {
	var out []Use
	names := map[string]Position{}
	for _, item := range n.list() {
		u := Use{Name: item.get("use").str(), Script: f.existing(item.get("script")).Path, Dir: f.dir, Pos: item.pos}
		if m := item.get("mcp"); m != nil {
			u.MCP = &MCP{Command: m.get("command").strs(), URL: m.get("url").str(), Pin: f.resolve(item.get("pin")).Path}
		}
		if item.get("use") != nil {
			granted := item.get("use")
			switch u.Pos = granted.pos; u.Name {
			case UseLLM:
				u.Model, u.Limits = f.model(item.get("model")), f.limits(item)
			case UseAgent:
				u.Agent, granted = f.existing(item.get("file")).Path, nil
			case useCommand:
				granted = item.get("name")
			}
			u.Beneath = item.get("for").str() == "agents"
			f.once(names, "tool", granted)
			for i, k := range item.keys {
				if k.text == "use" || k.text == "for" {
					continue
				}
				if u.Options == nil {
					u.Options = map[string]Option{}
				}
				u.Options[k.text] = Option{item.items[i].plain(nil), item.items[i].pos, k.pos}
			}
		}
		out = append(out, u)
	}
	return out
}

func (f *file) policy(n *node) *Policy {
	s := n.get("spec")
	m := s.get("match")
	p := &Policy{
		Meta: f.meta(n),
		Match: Match{
			Kinds: m.get("kinds").strs(), Tools: m.get("tools").strs(), Effects: m.get("effects").strs(),
			Sinks: m.get("sinks").strs(), Agents: m.get("agents").strs(), Principals: m.get("principals").strs(),
		},
		Audit:  s.get("mode").str() == "audit",
		Params: s.get("params").plainMap(f.dataFile(f.root, f.dir)),
		Dir:    f.dir,
		File:   f.path,
	}
	if r := s.get("rego"); r != nil {
		p.Rego = &Rego{Modules: f.refs(r.get("modules")), Pos: r.pos}
		if b := r.get("bundle"); b.str() != "" {
			p.Rego.Bundle = f.bundle(b)
		}
		if v := r.get("verify"); v != nil {
			p.Rego.Verify = &Verify{
				Key: f.existing(v.get("key")).Path, KeyID: v.get("keyID").str(), Algorithm: v.get("algorithm").str(), Scope: v.get("scope").str(), Pos: v.pos,
			}
			if r.get("bundle") == nil {
				f.problem(r.keyPos("verify"), "", "spec.rego.verify: there is no bundle to verify")
			}
		}
	}
	if c := s.get("cel"); c != nil {
		p.CEL = f.cel(c)
	}
	return p
}

func (f *file) cel(n *node) *CEL {
	c := &CEL{}
	for _, list := range []struct {
		key, what string
		out       *[]Expr
	}{{"matchConditions", "match condition", &c.Match}, {"variables", "variable", &c.Variables}} {
		names := map[string]Position{}
		for _, e := range n.get(list.key).list() {
			f.once(names, list.what, e.get("name"))
			*list.out = append(*list.out, e.get("expression").expr(e.get("name").str()))
		}
	}
	ids := map[string]Position{}
	for _, r := range n.get("rules").list() {
		f.once(ids, "rule", r.get("id"))
		rule := Rule{
			ID:        r.get("id").str(),
			EachLeaf:  r.get("each").str() == "leaf",
			When:      r.get("when").expr(r.get("id").str()),
			Action:    r.get("action").str(),
			Message:   r.get("message").str(),
			Audit:     r.get("mode").str() == "audit",
			Approvers: r.get("approvers").strs(),
			Count:     r.get("count").integer32(counts),
			OtherThan: r.get("otherThan").strs(),
			TTL:       time.Duration(r.get("ttl").quantity(durations)),
			Pos:       r.pos,
		}
		if m := r.get("messageExpression"); m != nil {
			rule.MessageExpr = m.expr(rule.ID)
		}
		if a := r.get("args"); a != nil {
			rule.Args = a.expr(rule.ID)
		}
		if rule.Action == "ask" && rule.Count == 0 {
			rule.Count = 1
		}
		if r.get("message") != nil && r.get("messageExpression") != nil {
			f.problem(r.keyPos("messageExpression"), "", "rule %q: got both message and messageExpression, want one of them", rule.ID)
		}
		for _, o := range r.get("obligations").list() {
			if o.kind == mapNode {
				rule.Obligations = append(rule.Obligations, o.plainMap(nil))
				at := map[string]Position{"": o.pos}
				for _, k := range o.keys {
					at[k.text] = k.pos
				}
				rule.ObligationsAt = append(rule.ObligationsAt, at)
			}
		}
		c.Rules = append(c.Rules, rule)
	}
	return c
}

func (f *file) host(n *node) *Host {
	s := n.get("spec")
	h := &Host{
		Meta:    f.meta(n),
		Library: s.get("library").strs(),
		Params:  s.get("params").plainMap(f.dataFile(f.root, f.dir)),
		State:   f.resolve(s.get("state")).Path,
		Dir:     f.dir,
		File:    f.path,
		Places:  map[string]Position{},
	}
	for _, key := range []string{"library", "params"} {
		s.get(key).places(key, h.Places)
	}
	for _, r := range f.refs(s.get("policies")) {
		h.Policies = append(h.Policies, r.Path)
	}
	if p := s.get("principal"); p != nil {
		h.Principal = principal(p)
	}
	logins := map[string]Position{}
	if people := s.get("people"); people != nil {
		for _, n := range people.items {
			login := n.get("login")
			f.once(logins, "login", login)
			h.People = append(h.People, Person{Login: login.str(), Sub: n.get("sub").str(), Groups: n.get("groups").strs()})
		}
	}
	if m := s.get("most"); m != nil {
		h.Most = Most{Trust: m.get("trust").str(), Listing: m.get("listing").str(), Meter: m.get("meter").integer32(counts)}
		if r := m.get("readers"); r != nil {
			h.Most.Readers = append([]string{}, r.strs()...)
		}
	}
	if j := s.get("journal"); j != nil {
		h.Journal = Journal{Keep: time.Duration(j.get("keep").quantity(durations)), MaxSize: j.get("maxSize").quantity(sizes), Encrypt: j.get("encrypt").strs()}
	}
	return h
}

func principal(n *node) Principal {
	return Principal{Sub: n.get("sub").str(), Groups: n.get("groups").strs(), Claims: n.get("claims").plainMap(nil)}
}

// labelOf returns a label written as a text, or nil.
func labelOf(n *node) *label.Label {
	if n.str() == "" || !patternLabel.MatchString(n.text) {
		return nil
	}
	l, err := label.Parse(n.text)
	if err != nil {
		return nil
	}
	return &l
}

func fieldLabels(n *node) []FieldLabel {
	if n == nil || n.kind != mapNode {
		return nil
	}
	var out []FieldLabel
	for i, k := range n.keys {
		l := labelOf(n.items[i])
		if l == nil {
			top := label.Top()
			l = &top
		}
		out = append(out, FieldLabel{k.text, *l, k.pos})
	}
	return out
}

func (f *file) toolset(n *node) *Toolset {
	s := n.get("spec")
	t := &Toolset{Meta: f.meta(n), Tools: f.uses(s.get("tools")), Dir: f.dir}
	names := map[string]Position{}
	for _, d := range s.get("declare").list() {
		f.once(names, "declaration of", d.get("tool"))
		decl := Declaration{
			Tool:      d.get("tool").str(),
			Effects:   d.get("effects").strs(),
			Label:     labelOf(d.get("label")),
			Of:        d.get("of").str(),
			Fields:    fieldLabels(d.get("fields")),
			Structure: labelOf(d.get("structure")),
			Timeout:   time.Duration(d.get("timeout").quantity(durations)),
			Pos:       d.pos,
		}
		if i := d.get("idempotent"); i != nil && i.kind == boolNode {
			decl.Idempotent = &i.b
		}
		if m := d.get("sinks"); m != nil && m.kind == mapNode {
			for i, k := range m.keys {
				decl.Sinks = append(decl.Sinks, SinkDeclaration{k.text, m.items[i].str(), k.pos})
			}
		}
		t.Declare = append(t.Declare, decl)
	}
	return t
}

func (f *file) scenario(n *node) *Scenario {
	s := n.get("spec")
	sc := &Scenario{
		Meta:      f.meta(n),
		Agent:     f.existing(s.get("agent")),
		Program:   f.existing(s.get("program")),
		Recording: f.existing(s.get("recording")),
		Author:    label.New(label.User, label.Public(), nil),
		Approve:   s.get("approve").strs(),
		Time:      f.time(s.get("time")),
		Real:      s.get("tools").str() == "real",
		Dir:       f.dir,
	}
	if l := labelOf(s.get("author")); l != nil {
		sc.Author = *l
	}
	if p := s.get("principal"); p != nil {
		who := principal(p)
		sc.Principal = &who
	}
	if in := s.get("inputs"); in != nil && in.kind == mapNode {
		for i, k := range in.keys {
			sc.Inputs = append(sc.Inputs, ScenarioInput{k.text, f.textOrFile(in.items[i]), k.pos})
		}
	}
	for _, st := range s.get("stubs").list() {
		sc.Stubs = append(sc.Stubs, f.stub(st))
	}
	if e := s.get("expect"); e != nil {
		sc.Expect = f.expect(e)
	}
	return sc
}

// scenarioTime is what the clock of a scenario says that sets none.
var scenarioTime = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func (f *file) time(n *node) time.Time {
	if n.str() == "" || !patternTime.MatchString(n.text) {
		return scenarioTime
	}
	t, err := time.Parse(time.RFC3339, n.text)
	if err != nil {
		f.problem(n.pos, "", "spec.time: got %s, want a time such as 2026-12-01T10:00:00Z", quoted(n.text))
	}
	return t.UTC()
}

func (f *file) stub(n *node) Stub {
	st := Stub{
		Tool:   n.get("tool").str(),
		Args:   n.get("args").plainMap(nil),
		Result: n.get("result").plain(func(ref *node) any { return f.include(ref) }),
		Label:  labelOf(n.get("label")),
		Fields: fieldLabels(n.get("fields")),
		Times:  n.get("times").integer32(counts),
		Pos:    n.pos,
	}
	if e := n.get("error"); e != nil {
		st.Error = &StubError{e.get("code").str(), e.get("text").str()}
		if st.Error.Text == "" {
			st.Error.Text = st.Error.Code
		}
	}
	return st
}

func (f *file) expect(n *node) Expect {
	e := Expect{
		Outcome:   n.get("outcome").str(),
		Answer:    n.get("answer").plain(nil),
		HasAnswer: n.get("answer") != nil,
		Labels:    fieldLabels(n.get("labels")),
		Pos:       n.pos,

		HasEffects: n.get("effects") != nil,
		OutcomePos: n.get("outcome").at(),
		AnswerPos:  n.get("answer").at(),
		EffectsPos: n.get("effects").at(),
	}
	for _, t := range n.get("effects").list() {
		e.Effects = append(e.Effects, ExpectedEffect{t.get("tool").str(), t.get("args").plainMap(nil), t.pos})
	}
	for _, t := range n.get("never").list() {
		e.Never = append(e.Never, ExpectedEffect{Tool: t.str(), Pos: t.pos})
	}
	for _, c := range n.get("calls").list() {
		call := ExpectedCall{
			Kind:   c.get("kind").str(),
			Tool:   c.get("tool").str(),
			Call:   c.get("call").str(),
			Args:   c.get("args").plainMap(nil),
			Effect: c.get("effect").str(),
			Rules:  c.get("rules").strs(),
			Label:  labelOf(c.get("label")),
			Pos:    c.pos,
		}
		if call.Kind == "" {
			call.Kind = "tool"
		}
		e.Calls = append(e.Calls, call)
	}
	return e
}

// textOrFile returns a text, or that of the file that {file: PATH} names.
func (f *file) textOrFile(n *node) string {
	if ref := n.get("file"); ref.str() != "" {
		return f.include(ref)
	}
	return n.str()
}

// include reads a text file.
func (f *file) include(ref *node) string {
	path := f.resolve(ref).Path
	text, err := f.contents(path)
	if err != nil {
		f.problem(ref.pos, "", "%s: %v", path, err)
		return ""
	}
	return string(text)
}

func (f *file) refs(n *node) []Ref {
	var out []Ref
	for _, item := range n.list() {
		if item.str() != "" {
			out = append(out, f.existing(item))
		}
	}
	return out
}

// problem reports a problem that is no warning.
func (l *loader) problem(pos Position, hint, format string, args ...any) {
	l.report(Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: hint})
}
