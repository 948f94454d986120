package console

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// question is one with everything in it that may mislead.
func question() gate.Question {
	return gate.Question{
		Run: "sample", Call: "4.2", Kind: policies.KindTool, Tool: "mail.send", Agent: "clerk", Principal: ana,
		Site: policies.Site{File: "turn4.star", Line: 2, Column: 1}, Effects: []string{"write", "egress"},
		Args: []journal.Argument{
			{Name: "to", Sink: policies.SinkRecipient, Value: value.ListOf(own, value.StringOf("\u0430na@corp.example", stranger))},
			{Name: "body", Sink: policies.SinkContent, Value: value.StringOf("Gr\u00fc\u00dfe \u202e"+strings.Repeat("long ", 100), own)},
			{Name: "key", Sink: policies.SinkSecret, Value: value.StringOf("of ben", label.New(label.User, label.Only("ben"), nil))},
		},
		PC: stranger,
		Approval: policies.Approval{
			Ask: "mail.outside", Policy: "mail", Message: "leaves the house", Args: []string{"to[0]"},
			Approvers: []string{"group:finance", "cleo"}, Count: 2, OtherThan: []string{"requester"}, TTL: 90 * time.Minute,
		},
		Origins: map[string]string{"to[0]": "mail.read 01.eml (body)"},
		By:      []string{"cleo"},
	}
}

func TestQuestion(t *testing.T) {
	for _, test := range []struct {
		name string
		look Look
	}{
		{"question", Look{}},
		{"question_terminal", Look{Color: true, Wide: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Question{Question: question(), Person: ana}.Text(test.look)
			golden(t, test.name, got)
			if strings.Contains(got, "of ben") {
				t.Error("the question shows what the principal may not read")
			}
			if strings.ContainsAny(got, "\u0430\u202e") {
				t.Error("the question shows characters that mislead")
			}
		})
	}
}

// Whatever is sent to the twentieth recipient is approved for all of them: all are shown.
func TestQuestionShowsAll(t *testing.T) {
	q := question()
	var to []value.Value
	for range 19 {
		to = append(to, value.StringOf("ana@corp.example", own))
	}
	q.Args[0].Value = value.ListOf(own, append(to, value.StringOf("eve@evil.example", own))...)
	q.Args[1].Value = value.StringOf(strings.Repeat("x", maxAsked)+"end", own)
	got := Question{Question: q, Person: ana}.Text(Look{})
	if !strings.Contains(got, "eve@evil.example") {
		t.Errorf("the last recipient is not shown:\n%s", got)
	}
	if !strings.Contains(got, "CUT: 8000 of 8003 characters are shown, the first and the last") || !strings.Contains(got, "xend\n") {
		t.Error("a text that is cut does not say so")
	}
}

func TestPrompt(t *testing.T) {
	for _, test := range []struct {
		name  string
		typed string
		want  gate.Outcome
	}{
		{"yes", "y\n", gate.Approved},
		{"yes in full, with blanks", "  YES \n", gate.Approved},
		{"no", "n\n", gate.Refused},
		{"an empty line", "\n", gate.Refused},
		{"something else, then yes", "what?\ny\n", gate.Approved},
		{"something else three times", "1\n2\n3\ny\n", gate.Waiting},
		{"the end of the input", "", gate.Waiting},
		{"a yes without the end of its line", "y", gate.Waiting},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := NewPrompt(strings.NewReader(test.typed), io.Discard, Look{}, ana).Approve(t.Context(), question())
			if err != nil || v.Outcome != test.want {
				t.Fatalf("Approve = %v, %v; want %v", v, err, test.want)
			}
			if v.Anybody || v.Outcome != gate.Waiting && v.By != "ana" {
				t.Errorf("answered as %+v, want as ana and nobody else", v)
			}
		})
	}
}

// A question that was given up takes no answer, and none that comes later is taken for another question's.
func TestPromptGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		p := NewPrompt(in, io.Discard, Look{}, ana)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if v, err := p.Approve(ctx, question()); err != nil || v.Outcome != gate.Waiting {
			t.Errorf("Approve = %v, %v; want one that waits", v, err)
		}
		if v, err := p.Approve(t.Context(), question()); err != nil || v.Outcome != gate.Waiting {
			t.Errorf("the next question: %v, %v; want one that waits", v, err)
		}
		typing.Close()
		close(p.want)
		synctest.Wait()
		<-p.lines
	})
}

func TestPromptDiscards(t *testing.T) {
	p := NewPrompt(strings.NewReader("n\n"), io.Discard, Look{}, ana)
	called := false
	p.Discard = func() { called = true }
	if _, err := p.Approve(t.Context(), question()); err != nil || !called {
		t.Errorf("Discard called: %v (%v), want that it is before an answer is read", called, err)
	}
}

func TestLook(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	env := map[string]string{"TERM": "xterm", "LANG": "en_GB.UTF-8"}
	if got := LookOf(null, func(k string) string { return env[k] }); got != (Look{}) {
		t.Errorf("what is no terminal looks like %+v, want plain", got)
	}
	if IsTerminal(null) {
		t.Error("the null device is taken for a terminal")
	}
}

// A recipient need not read as what it is.
func TestQuestionSaysToWhomItGoes(t *testing.T) {
	for _, test := range []struct{ to, want string }{
		{"ana@corp.example", ""},
		{"Ana@Corp.Example", ""},
		{"#general", ""},
		{`"ana@corp.example" <eve@evil.example>`, `beware: to: "\"ana@corp.example\" <eve@evil.example>" goes to eve@evil.example`},
		{"ana@c\u043erp.example", `beware: to: "ana@c\u043erp.example" goes to ana@xn--crp-sed.example`},
		{"ana@corp.example, eve@evil.example", `beware: to: "ana@corp.example, eve@evil.example" is not one address`},
	} {
		q := question()
		q.Args, q.PC = []journal.Argument{{Name: "to", Sink: policies.SinkRecipient, Value: value.StringOf(test.to, own)}}, own
		got := Question{Question: q, Person: ana}.Text(Look{})
		if test.want == "" && strings.Contains(got, "beware") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got\n%s\nwant %s", test.to, got, test.want)
		}
	}
	q := question()
	q.Args[0].Value = value.StringOf(`"x@y.example" <eve@evil.example>`, label.New(label.User, label.Only("ben"), nil))
	if got := (Question{Question: q, Person: ana}).Text(Look{}); strings.Contains(got, "eve@") {
		t.Errorf("the question shows a recipient that the principal may not read:\n%s", got)
	}
}
