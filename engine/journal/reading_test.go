package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// forTwo is a run that both ana and ben have data in: what is for ana says ANA, what is for ben says BEN, and what may quote both says
// BOTH. What everybody may read says ALL.
func forTwo() []Entry {
	ana := label.New(label.User, label.Only("ana"), nil, label.Source{Tool: "mail.read", Of: "a.eml"})
	ben := label.New(label.Internal, label.Only("ben", "group:finance"), []string{"pii"}, label.Source{Tool: "mail.read", Of: "b.eml"})
	all := label.New(label.System, label.Public(), nil)
	mixed := value.DictOf(all, value.Field{Name: "a", Of: value.StringOf("ANA", ana)}, value.Field{Name: "b", Of: value.StringOf("BEN", ben)}, value.Field{Name: "c", Of: value.StringOf("ALL", all)})
	decided := func(l label.Label, word string) DecisionMade {
		return DecisionMade{
			Kind: "tool", Tool: "mail.send", PC: all, Program: all, Binding: "sha256:" + word,
			Args: []Argument{{Name: "to", Value: value.StringOf("ALL", all)}, {Name: "body", Value: value.StringOf(word, l)}},
			Decision: policies.Decision{
				Effect: policies.Ask, Reasons: []policies.Reason{{ID: "mail.odd", Message: "says " + word, Args: []string{"body"}}},
				Approvals:   []policies.Approval{{Ask: "mail.odd", Message: word, Binding: "sha256:" + word}},
				Obligations: []policies.Obligation{{Type: "notify", Fields: map[string]any{"text": word}}},
			},
			Origins: map[string]string{"body": "mail.read"},
		}
	}
	return []Entry{
		{RunStart, "", RunStarted{Agent: "ALL", Inputs: []Input{{Name: "a", Value: value.StringOf("ANA", ana)}, {Name: "m", Value: mixed}}}},
		{TurnStart, "", TurnStarted{Turn: 1, Program: "x = 'ANA'", Author: ana}},
		{ModelReply, "", ModelReplied{Turn: 1, Text: "BEN", Context: ben}},
		{Decided, "1.1", decided(ana, "ANA")},
		{Approved, "1.1", ApprovalGiven{Ask: "mail.odd", Binding: "sha256:ANA", By: "carla", Verdict: "approved"}},
		{CallResult, "1.1", CallEnded{Tool: "mail.send", Value: &mixed, Label: all}},
		{Decided, "1.2", decided(ben, "BEN")},
		{CallResult, "1.2", CallEnded{Tool: "mail.send", Code: "bad-address", Text: "BEN is no address", Label: ben}},
		{Decided, "1.3", decided(ana.Join(ben), "BOTH")},
		{Endorsed, "1.3", EndorsementMade{Kind: "endorse", From: all, To: all, Why: "BOTH"}},
		{Decided, "1.4", decided(all, "ALL")},
		{Approved, "1.4", ApprovalGiven{Ask: "mail.odd", Binding: "sha256:ALL", By: "carla", Verdict: "approved"}},
		{Observation, "1.5", Observed{Name: "x", Shown: true, Text: "ANA", Label: ana, Context: ana}},
		{ProgramEnd, "", ProgramEnded{Turn: 1, Status: "error", Message: "turn1.star:1: BEN", Label: ben}},
		{RunEnd, "", RunEnded{Status: StatusDone, Answer: &mixed}},
	}
}

// TestReader shows one run to people whose readers no order holds.
func TestReader(t *testing.T) {
	s := NewMemory()
	run, err := Begin(t.Context(), s, "r1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := run.AppendAll(t.Context(), false, forTwo()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		who    policies.Principal
		reads  string
		hidden string
	}{
		{"ana", policies.Principal{Sub: "ana"}, "ANA ALL", "BEN BOTH"},
		{"ben", policies.Principal{Sub: "ben"}, "BEN ALL", "ANA BOTH"},
		{"somebody of finance", policies.Principal{Sub: "fay", Groups: []string{"finance"}}, "BEN ALL", "ANA BOTH"},
		{"somebody else", policies.Principal{Sub: "eve", Groups: []string{"sales"}}, "ALL", "ANA BEN BOTH"},
		{"nobody", policies.Principal{}, "ALL", "ANA BEN BOTH"},
		{"ana in finance", policies.Principal{Sub: "ana", Groups: []string{"finance"}}, "ANA BEN ALL", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := NewReader(test.who.MayRead)
			var text strings.Builder
			for i, e := range events {
				shown, hidden, err := r.Event(e)
				if err != nil {
					t.Fatal(err)
				}
				if same := string(shown.Payload) == string(e.Payload) && shown.Salt == e.Salt; same == hidden {
					t.Errorf("event %d: hidden is %v, and it is the same: %v", e.Seq, hidden, same)
				}
				if err := VerifyWhole(append(append([]Event{}, events[:i]...), shown), e.Hash); (err == nil) == hidden {
					t.Errorf("event %d: hidden is %v, and verifying gives %v", e.Seq, hidden, err)
				}
				if got, want := labelsIn(t, shown), labelsIn(t, e); got != want {
					t.Errorf("event %d: labels\n%s\nwant\n%s", e.Seq, got, want)
				}
				if err := Export(&text, []Event{shown}); err != nil {
					t.Fatal(err)
				}
			}
			for _, w := range strings.Fields(test.reads) {
				if !strings.Contains(text.String(), w) {
					t.Errorf("%s is hidden", w)
				}
			}
			for _, w := range strings.Fields(test.hidden) {
				for line := range strings.Lines(text.String()) {
					if strings.Contains(line, w) {
						t.Errorf("%s is shown: %s", w, line)
					}
				}
			}
			if _, _, err := Import(strings.NewReader(text.String())); err != nil {
				t.Errorf("what is shown is no journal: %v", err)
			}
		})
	}
}

// labelsIn are the labels of an event that are not of a value, and of the values as a whole.
func labelsIn(t *testing.T, e Event) string {
	t.Helper()
	var b strings.Builder
	add := func(ls ...label.Label) {
		for _, l := range ls {
			j, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, string(j))
		}
	}
	decode := func(out any) {
		if err := unmarshal(e, out); err != nil {
			t.Fatal(err)
		}
	}
	switch e.Type {
	case RunStart:
		var p RunStarted
		decode(&p)
		for _, in := range p.Inputs {
			add(in.Value.Deep())
		}
	case Decided:
		var p DecisionMade
		decode(&p)
		add(p.PC, p.Program)
		for _, a := range p.Args {
			add(a.Value.Deep())
		}
	case CallResult:
		var p CallEnded
		decode(&p)
		add(p.Label)
		if p.Value != nil {
			add(p.Value.Deep())
		}
	case Observation:
		var p Observed
		decode(&p)
		add(p.Label, p.Context)
	case ProgramEnd:
		var p ProgramEnded
		decode(&p)
		add(p.Label)
	}
	return b.String()
}

func TestHiddenNamesTheReaders(t *testing.T) {
	for _, test := range []struct {
		readers label.Readers
		want    string
	}{
		{label.Only("hr@corp.example"), "hidden:{hr@corp.example}"},
		{label.Only("b", "a"), "hidden:{a,b}"},
		{label.Readers{}, "hidden:{}"},
		{label.Only("a,b}"), "hidden:{a%2Cb%7D}"},
	} {
		if got := Hidden(label.New(label.Untrusted, test.readers, nil)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
