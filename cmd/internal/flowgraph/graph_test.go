package flowgraph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	system = label.New(label.System, label.Public(), nil)
	task   = label.New(label.User, label.Only("ana"), nil, label.Source{Tool: "input", Of: "task"})
	turn1  = task.Join(label.New(label.User, label.Public(), nil, label.Source{Tool: "model", Of: "turn 1"}))
	mail   = label.New(label.Untrusted, label.Only("ana"), nil, label.Source{Tool: "mail.read", Of: "4.eml", Field: "body"})
	vendor = label.New(label.Internal, label.Only("ana", "ben"), nil, label.Source{Tool: "csv.read", Of: "vendors.csv"})
)

func decided(id, kind, tool string, d policies.Decision, args ...journal.Argument) journal.Entry {
	effects := []string{policies.EffectRead}
	if tool == "payments.pay" {
		effects = []string{policies.EffectWrite}
	}
	return journal.Entry{Type: journal.Decided, Call: id, Payload: journal.DecisionMade{
		Kind: kind, Tool: tool, Args: args, PC: turn1, Program: turn1, Site: policies.Site{File: "turn1.star", Line: 3, Column: 1}, Effects: effects, Decision: d,
	}}
}

func arg(name string, v string, l label.Label) journal.Argument {
	return journal.Argument{Name: name, Value: value.StringOf(v, l)}
}

var allow = policies.Decision{Effect: policies.Allow, Would: policies.Allow}

func deny(id string, paths ...string) policies.Decision {
	return policies.Decision{Effect: policies.Deny, Reasons: []policies.Reason{{ID: id, Effect: policies.Deny, Args: paths, Message: "not so"}}}
}

func gave(id, tool string, v value.Value) journal.Entry {
	return journal.Entry{Type: journal.CallResult, Call: id, Payload: journal.CallEnded{Tool: tool, Value: &v, Label: v.Label}}
}

// refusedRun is a run in which a payment to an account out of a mail is refused, one waits, one fails, and what a model is
// shown is untrusted.
func refusedRun(names func(string) string) []journal.Entry {
	in := func(turn int, author label.Label) journal.Entry {
		return journal.Entry{Type: journal.TurnStart, Payload: journal.TurnStarted{Turn: turn, File: names(fmt.Sprintf("turn%d.star", turn)), Author: author}}
	}
	named := func(l label.Label) label.Label {
		var out []label.Source
		for _, s := range l.Sources() {
			out = append(out, label.Source{Tool: names(s.Tool), Of: s.Of, Field: s.Field})
		}
		return label.New(l.Trust(), l.Readers(), nil, out...)
	}
	mail, vendor := named(mail), named(vendor)
	checked := vendor.WithGrant(label.Grant{Call: "1.4", Trust: label.Untrusted, Bits: 1})
	read, csv, pay := names("mail.read"), names("csv.read"), "payments.pay"
	entries := []journal.Entry{
		{Type: journal.RunStart, Payload: journal.RunStarted{Agent: names("books"), Inputs: []journal.Input{{Name: "task", Value: value.StringOf(names("Pay."), task)}}}},
		in(1, turn1),
		decided("1.1", policies.KindTool, csv, allow, arg("path", "vendors.csv", turn1)), gave("1.1", csv, value.StringOf("DE98", vendor)),
		decided("1.2", policies.KindTool, read, allow, arg("id", "4.eml", turn1)), gave("1.2", read, value.StringOf(names("pay LT50"), mail)),
		decided("1.3", policies.KindTool, pay, deny(names("payments.iban-origin"), "iban"), arg("iban", names("LT50"), mail), arg("amount", "12", turn1)),
		decided("1.4", policies.KindEndorse, "endorse", allow, arg("value", "True", mail), arg("why", "agrees", turn1)),
		{Type: journal.Endorsed, Call: "1.4", Payload: journal.EndorsementMade{Kind: policies.KindEndorse, Bits: 1, From: mail, To: vendor}},
		decided("1.5", policies.KindTool, pay, allow, arg("iban", "DE98", checked), arg("amount", "12", turn1)),
		{Type: journal.CallStart, Call: "1.5", Payload: journal.CallStarted{Tool: pay}},
		{Type: journal.CallResult, Call: "1.5", Payload: journal.CallEnded{Tool: pay, Code: names("no-money"), Label: system}},
		decided("1.o1", policies.KindObserve, "observe", allow, arg("value", "pay LT50", mail)),
		{Type: journal.Observation, Call: "1.o1", Payload: journal.Observed{Name: names("printed 1"), Shown: true, Text: names("pay LT50"), Label: mail}},
		in(2, turn1.Join(mail).WithSources(label.Source{Tool: "model", Of: "turn 2"})),
		decided("2.1", policies.KindTool, pay, policies.Decision{Effect: policies.Ask, Approvals: []policies.Approval{{Ask: names("payments.large"), Args: []string{"iban"}}}}, arg("iban", "DE98", checked)),
		{Type: journal.Approved, Call: "2.1", Payload: journal.ApprovalGiven{Ask: names("payments.large"), Verdict: "waiting"}},
		decided("2.2", policies.KindAnswer, "answer", allow, arg("value", names("1 to be approved"), turn1)), gave("2.2", "answer", value.StringOf("ok", turn1)),
		decided("2.3", policies.KindTool, pay, allow, arg("iban", "DE98", checked)),
		{Type: journal.CallStart, Call: "2.3", Payload: journal.CallStarted{Tool: pay}},
	}
	for i := range 5 {
		id := fmt.Sprintf("2.%d", i+4)
		entries = append(entries, decided(id, policies.KindTool, read, allow, arg("id", id, turn1)), gave(id, read, value.StringOf("x", mail)))
	}
	return entries
}

func recorded(t *testing.T, entries []journal.Entry) []journal.Event {
	t.Helper()
	noon := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	run, err := journal.Begin(t.Context(), journal.NewMemory(), "r1", journal.Options{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	events, err := run.AppendAll(t.Context(), false, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func may(l label.Label) bool { return policies.Principal{Sub: "ana"}.MayRead(l) }

func formats(g *Graph) map[string][]byte {
	return map[string][]byte{"svg": g.SVG(), "dot": g.DOT(), "mermaid": g.Mermaid()}
}

func TestGolden(t *testing.T) {
	events := recorded(t, refusedRun(func(s string) string { return s }))
	again := formats(New(events, may))
	for format, got := range formats(New(events, may)) {
		file := filepath.Join("testdata", "refused."+format)
		if *update {
			if err := os.WriteFile(file, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s has changed (-want +got), -update accepts it:\n%s", file, diff)
		}
		if !bytes.Equal(got, again[format]) {
			t.Errorf("%s: the same events give another picture", format)
		}
	}
}

// TestFlows says what must be joined to what.
func TestFlows(t *testing.T) {
	g := New(recorded(t, refusedRun(func(s string) string { return s })), may)
	var got []string
	for _, e := range g.edges {
		if e.flow == order {
			continue
		}
		to := e.to.head()
		if e.row >= 0 {
			to += " " + e.to.rows[e.row].path
		}
		s := e.from.head() + " > " + to + " " + e.trust.String()
		if e.flow == granted {
			s += " granted"
		}
		if e.refused {
			s += " REFUSED " + strings.Join(e.to.rows[e.row].rules, " ")
		}
		got = append(got, s)
	}
	want := []string{
		"input task > turn 1 user",
		"turn 1 > 1.1 csv.read path user",
		"turn 1 > 1.2 mail.read id user",
		"1.2 mail.read > 1.3 payments.pay iban untrusted REFUSED payments.iban-origin",
		"turn 1 > 1.3 payments.pay amount user",
		"1.2 mail.read > 1.4 endorse value untrusted",
		"1.1 csv.read > 1.5 payments.pay iban internal",
		"turn 1 > 1.5 payments.pay amount user",
		"1.4 endorse > 1.5 payments.pay untrusted granted",
		"1.2 mail.read > turn 2 printed 1 untrusted",
		"1.1 csv.read > 2.1 payments.pay iban internal",
		"turn 1 > 2.2 answer value user",
		"1.1 csv.read > 2.3 payments.pay iban internal",
		"turn 1 > 2.4-2.8 mail.read, 5 calls id user",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	states := map[string]state{}
	for _, n := range g.nodes {
		states[n.head()] = n.state
	}
	for name, want := range map[string]state{"1.3 payments.pay": refused, "1.5 payments.pay": failed, "2.1 payments.pay": waiting, "2.3 payments.pay": unknown, "1.4 endorse": done} {
		if got, ok := states[name]; !ok || got != want {
			t.Errorf("%s: got %q, want %q", name, stateNames[got], stateNames[want])
		}
	}
}

// What a reader may not read is in no picture, and what was redacted from the journal breaks none.
func TestReader(t *testing.T) {
	events := recorded(t, refusedRun(func(s string) string { return s }))
	ben := policies.Principal{Sub: "ben"}.MayRead
	for format, got := range formats(New(events, ben)) {
		if bytes.Contains(got, []byte("LT50")) {
			t.Errorf("%s shows ben what is ana's", format)
		}
		if !bytes.Contains(got, []byte("hidden")) || !bytes.Contains(got, []byte("DE98")) {
			t.Errorf("%s does not say what is hidden, or hides what is ben's", format)
		}
	}
	for i := range events {
		events[i] = events[i].Redact()
		for _, got := range formats(New(events, ben)) {
			if len(got) == 0 {
				t.Error("nothing is drawn")
			}
		}
	}
}

// hostile are texts that would be markup in one format or another.
var hostile = []string{
	`</text><script>alert(1)</script>`, `" onload="alert(1)`, `'><image href='http://evil.example/x'/>`, "]]>", "&lt;b&gt;", `\"];n9[label="x`, `\N\G`,
	"a\nend\nclick n1 href \"javascript:x\"", "#quot;]--x", "`**x**`", "\u202etxt.exe", "\x00\x1b[2J", "%%{init: {}}%%", "\xff\xfe", `"]:::c`, "p\u0430ypal", "|\"|", "<br/>", strings.Repeat("wide ", 100),
}

// TestHostileNames puts such texts wherever a name or a value stands, and reads the pictures as their programs would.
func TestHostileNames(t *testing.T) {
	for _, text := range hostile {
		g := New(recorded(t, refusedRun(func(s string) string { return s + text })), may)
		if err := checkSVG(g.SVG()); err != nil {
			t.Errorf("%q: SVG: %v", text, err)
		}
		if err := checkDOT(string(g.DOT())); err != nil {
			t.Errorf("%q: DOT: %v", text, err)
		}
		if err := checkMermaid(string(g.Mermaid())); err != nil {
			t.Errorf("%q: Mermaid: %v", text, err)
		}
	}
}

func checkSVG(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	elements := []string{"svg", "title", "text", "g", "rect", "path", "circle"}
	attrs := []string{
		"xmlns", "width", "height", "viewBox", "role", "font-family", "font-size", "font-weight", "font-style", "fill", "stroke", "stroke-width", "stroke-dasharray",
		"x", "y", "rx", "cx", "cy", "r", "d", "text-anchor",
	}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if !slices.Contains(elements, tok.Name.Local) {
				return fmt.Errorf("an element %s", tok.Name.Local)
			}
			for _, a := range tok.Attr {
				if !slices.Contains(attrs, a.Name.Local) {
					return fmt.Errorf("an attribute %s", a.Name.Local)
				}
			}
		case xml.CharData:
			if bytes.ContainsAny(tok, "\x00\x1b\u202e") {
				return fmt.Errorf("a text %q", tok)
			}
		case xml.EndElement:
		default:
			return fmt.Errorf("a token %T", tok)
		}
	}
}

var (
	dotString = regexp.MustCompile(`"(?:[^"\\\n]|\\[\\"n])*"`)
	dotPlain  = regexp.MustCompile(`^[A-Za-z0-9 \t,=.\[\]{}>-]*$`)

	mermaidLine   = regexp.MustCompile(`^\t(n\d+(\[/|\[\(|\(\[|\[|\{\{|\[\[)"[A-Za-z0-9 .,#;<br/>]*"(/\]|\)\]|\]\)|\]|\}\}|\]\])|style n\d+ [a-z0-9:,#-]+|n\d+ --[>x](\|"[A-Za-z0-9 .,#;]*"\|)? n\d+|linkStyle \d+ [a-z0-9:,#. -]+)$`)
	mermaidEscape = regexp.MustCompile(`#\d+;|<br/>`)
)

func checkDOT(s string) error {
	for line := range strings.Lines(s) {
		if plain := dotString.ReplaceAllString(strings.TrimSuffix(line, "\n"), ""); !dotPlain.MatchString(plain) {
			return fmt.Errorf("outside of texts: %q", plain)
		}
	}
	return nil
}

func checkMermaid(s string) error {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for _, line := range lines[1:] {
		if !mermaidLine.MatchString(line) {
			return fmt.Errorf("a line %q", line)
		}
		if i, j := strings.Index(line, `"`), strings.LastIndex(line, `"`); i < j {
			if rest := mermaidEscape.ReplaceAllString(line[i+1:j], ""); strings.ContainsAny(rest, "#;<>/&") {
				return fmt.Errorf("a text %q", line[i:j])
			}
		}
	}
	return nil
}

// A picture of fifty calls has no box on another, and none that hangs over its edge; one of thousands has an end.
func TestLayout(t *testing.T) {
	for _, calls := range []int{0, 1, 50, 3000} {
		entries := []journal.Entry{{Type: journal.RunStart, Payload: journal.RunStarted{}}, {Type: journal.TurnStart, Payload: journal.TurnStarted{Turn: 1, Author: turn1}}}
		last := turn1
		for i := range calls {
			id, tool := fmt.Sprintf("1.%d", i+1), fmt.Sprintf("tool%d", i%7)
			entries = append(entries, decided(id, policies.KindTool, tool, allow, arg("a", "x", last), arg("b", "y", turn1)))
			last = label.New(label.Untrusted, label.Only("ana"), nil, label.Source{Tool: tool, Of: id})
			entries = append(entries, gave(id, tool, value.StringOf("x", last)))
			if i%3 == 0 {
				last = turn1
			}
		}
		g := New(recorded(t, entries), may)
		p := g.lay()
		if g.more != (calls > maxNodes) {
			t.Errorf("%d calls: more is %v", calls, g.more)
		}
		for i, n := range p.nodes {
			a := n.layout
			if a.x < 0 || a.y < headHeight || a.x+a.w > p.w || a.y+a.h > p.h {
				t.Errorf("%d calls: %s hangs over the edge: %+v of %v x %v", calls, n.head(), a, p.w, p.h)
			}
			for _, o := range p.nodes[:i] {
				b := o.layout
				if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
					t.Errorf("%d calls: %s is on %s", calls, n.head(), o.head())
				}
			}
		}
	}
}

// A call that waited and was decided again is one box, with the story of its approval.
func TestDecidedAgain(t *testing.T) {
	asks := policies.Decision{Effect: policies.Ask, Approvals: []policies.Approval{{Ask: "payments.large", Args: []string{"iban"}}}}
	answer := func(verdict, by string) journal.Entry {
		return journal.Entry{Type: journal.Approved, Call: "1.1", Payload: journal.ApprovalGiven{Ask: "payments.large", Verdict: verdict, By: by}}
	}
	pay := decided("1.1", policies.KindTool, "payments.pay", asks, arg("iban", "DE98", vendor))
	g := New(recorded(t, []journal.Entry{
		{Type: journal.RunStart, Payload: journal.RunStarted{}}, {Type: journal.TurnStart, Payload: journal.TurnStarted{Turn: 1, Author: turn1}},
		pay, answer("waiting", ""), pay, answer("approved", "bob"), {Type: journal.CallStart, Call: "1.1", Payload: journal.CallStarted{Tool: "payments.pay"}},
		gave("1.1", "payments.pay", value.StringOf("paid", vendor)),
	}), may)
	var boxes []*node
	for _, n := range g.nodes {
		if n.kind == call {
			boxes = append(boxes, n)
		}
	}
	if len(boxes) != 1 || boxes[0].state != done || len(boxes[0].rows) != 1 {
		t.Fatalf("got %+v, want one box that is done", boxes)
	}
	if tip := boxes[0].full(); !strings.Contains(tip, "payments.large waiting\npayments.large approved by bob") {
		t.Errorf("the story is not told: %s", tip)
	}
}
