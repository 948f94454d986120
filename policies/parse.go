package policies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// ParseRequest reads a request document: it is the inverse of [Request.Document]. The document must be whole, as
// [InputSchema] says: a key that is not known is an error, and so is what contradicts itself, as a rank that is not
// its trust's. A label that is missing is Top. All contradictions are reported at once.
func ParseRequest(b []byte) (*Request, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	d.UseNumber()
	var doc requestDoc
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("request: got more than one document")
	}
	p := &requestParser{}
	r := p.request(&doc)
	if len(p.wrong) > 0 {
		return nil, errors.New(strings.Join(p.wrong, "\n"))
	}
	return r, nil
}

// requestDoc is the document as it is written.
type requestDoc struct {
	Version   string
	Time      string
	Agent     Agent
	Principal Principal
	Session   Session
	Call      struct {
		ID, Kind, Tool string
		Effects, Sinks []string
		Args           json.RawMessage
		Site           Site
		State          *struct {
			Name  string
			Write bool
			Label labelDoc
		}
	}
	Labels struct {
		Program, PC, Context labelDoc
		Args                 map[string]labelDoc
	}
	Tags    []string
	Leaves  []leafDoc
	History struct {
		Count map[string]int
		Marks []string
	}
}

type labelDoc struct {
	Trust   string
	Rank    int
	Readers []string
	Tags    []string
	Sources []label.Source
	More    bool
	Choice  struct{ Rank, Bits int }
}

type leafDoc struct {
	Path, Param string
	Value       json.RawMessage
	Norm, Host  string
	Sink        string
	Typed       bool
	labelDoc
}

// unnamedSources says of a label that it has sources which it does not name, and nothing else.
var unnamedSources = func() (l label.Label) {
	if err := json.Unmarshal([]byte(`{"trust":"system","readers":["*"],"tags":[],"sources":[],"more":true}`), &l); err != nil {
		panic(err) // the text is constant
	}
	return l
}()

// requestParser gathers what is wrong.
type requestParser struct{ wrong []string }

func (p *requestParser) fail(path, format string, args ...any) {
	p.wrong = append(p.wrong, path+": "+fmt.Sprintf(format, args...))
}

func (p *requestParser) request(doc *requestDoc) *Request {
	if doc.Version != Version {
		p.fail("version", "got %q, want %q", doc.Version, Version)
	}
	r := &Request{
		Agent: doc.Agent, Principal: doc.Principal, Session: doc.Session,
		Call:    Call{ID: doc.Call.ID, Kind: doc.Call.Kind, Tool: doc.Call.Tool, Effects: doc.Call.Effects, Sinks: doc.Call.Sinks, Site: doc.Call.Site},
		Tags:    doc.Tags,
		History: History{Count: doc.History.Count, Marks: doc.History.Marks},
	}
	for k, v := range doc.Principal.Claims {
		doc.Principal.Claims[k] = withNumbers(v)
	}
	var err error
	if r.Time, err = time.Parse(time.RFC3339Nano, doc.Time); err != nil {
		p.fail("time", "got %q, want a time such as 2026-12-01T10:00:00Z", doc.Time)
	}
	if s := doc.Call.State; s != nil {
		r.Call.State = &State{Name: s.Name, Write: s.Write, Label: p.label("call.state.label", s.Label)}
	}
	r.Labels = Labels{
		Program: p.label("labels.program", doc.Labels.Program), PC: p.label("labels.pc", doc.Labels.PC), Context: p.label("labels.context", doc.Labels.Context),
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Labels.Args)) {
		r.Labels.Args = append(r.Labels.Args, ArgLabel{name, p.label("labels.args."+name, doc.Labels.Args[name])})
	}
	r.Call.Args = p.args(doc.Call.Args, r.Labels.Args)
	control := 0
	for i := range doc.Leaves {
		l := p.leaf(fmt.Sprintf("leaves[%d]", i), &doc.Leaves[i])
		if l.Sink == SinkControl {
			control++
			if !l.Label.Equal(r.Labels.PC) {
				p.fail(fmt.Sprintf("leaves[%d]", i), "got a label that is not labels.pc, want the same: it is the control flow's leaf")
			}
		} else if !slices.ContainsFunc(r.Labels.Args, func(a ArgLabel) bool { return a.Name == l.Param }) {
			p.fail(fmt.Sprintf("leaves[%d].param", i), "got %q, want a parameter that labels.args has", l.Param)
		}
		r.Leaves = append(r.Leaves, l)
	}
	if control != 1 {
		p.fail("leaves", "got %d leaves with the sink control, want one: the control flow's", control)
	}
	return r
}

// args reads the arguments, each under its parameter's label.
func (p *requestParser) args(raw json.RawMessage, labels []ArgLabel) value.Value {
	args, err := value.FromJSON(raw, label.Bottom())
	if err != nil || args.Kind != value.Dict {
		p.fail("call.args", "got %s, want an object", bytes.TrimSpace(raw[:min(len(raw), 40)]))
		return value.DictOf(label.Bottom())
	}
	for i, k := range args.Keys {
		at := slices.IndexFunc(labels, func(a ArgLabel) bool { return a.Name == k.Str })
		if at < 0 {
			p.fail("call.args."+k.Str, "has no label in labels.args")
			continue
		}
		args.Items[i] = args.Items[i].Joined(labels[at].Label)
	}
	return args
}

func (p *requestParser) leaf(path string, doc *leafDoc) Leaf {
	l := Leaf{Path: doc.Path, Param: doc.Param, Norm: doc.Norm, Host: doc.Host, Sink: doc.Sink, Typed: doc.Typed, Label: p.label(path, doc.labelDoc)}
	if len(doc.Value) == 0 {
		return l
	}
	d := json.NewDecoder(bytes.NewReader(doc.Value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		p.fail(path+".value", "%v", err)
		return l
	}
	switch v := v.(type) {
	case nil, bool, string:
		l.Value = v
	case json.Number:
		l.Value = numberOf(v)
	default:
		p.fail(path+".value", "got %s, want a scalar", doc.Value[:min(len(doc.Value), 40)])
	}
	return l
}

// withNumbers replaces the numbers of plain data as they are written by numbers.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return numberOf(v)
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withNumbers(v[k])
		}
	}
	return v
}

// numberOf returns a number as leaves have it.
func numberOf(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	if i, ok := new(big.Int).SetString(n.String(), 10); ok {
		return i
	}
	f, err := n.Float64()
	if err != nil { // out of range: it is infinite
		return f
	}
	return f
}

func (p *requestParser) label(path string, doc labelDoc) label.Label {
	trust, err := label.ParseTrust(doc.Trust)
	if err != nil {
		p.fail(path, "%v", err)
		return label.Top()
	}
	if int(trust) != doc.Rank {
		p.fail(path+".rank", "got %d, want %d: the trust is %s", doc.Rank, trust, trust)
	}
	if doc.Choice.Rank < int(label.Untrusted) || doc.Choice.Rank > int(label.System) {
		p.fail(path+".choice.rank", "got %d, want 0 to %d", doc.Choice.Rank, label.System)
		return label.Top()
	}
	if slices.Contains(doc.Tags, "*") { // it shows every tag that rules look for
		doc.Tags = []string{"*"}
	}
	l := label.New(trust, label.Only(doc.Readers...), doc.Tags, doc.Sources...)
	if doc.More {
		l = l.Join(unnamedSources)
	}
	if doc.Choice.Rank != int(label.System) || doc.Choice.Bits != 0 {
		l = l.WithGrant(label.Grant{Call: "request", Trust: label.Trust(doc.Choice.Rank), Bits: doc.Choice.Bits})
	}
	return l
}
