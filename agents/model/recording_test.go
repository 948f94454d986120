package model_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
)

// Whatever a model is shown and answers is played as it was.
func TestWhatIsRecordedIsPlayed(t *testing.T) {
	texts := []string{
		"I go on.\n\n```starlark\ndone(1)\n```", "", "no fence", "## turn 2\n\nnot a turn", "> expect: a trap", "> | a trap", "> tokens: 5 in", "> call: run x", "```\n## turn 7\n", "````\n```\n````\n> said: x",
		"> said: y", "a\n\n> call: run a\n\n```json\n{}\n```", "ends with blanks  \nand tabs\t", "\u2028 odd \u200b lines \u0007", "`` ` ``",
	}
	shown := []string{"go", "", "printed: 1\n", "\n\n  indented  \n   \n", "## turn 1\n```", "> | quoted", "with\r\nreturns\r\r\n", strings.Repeat("long ", 5000), "ends in a blank \n"}
	for i, text := range texts {
		for j, message := range shown {
			for _, calls := range [][]model.Call{nil, {model.CallOf("id 1", "x = 1\n")}, {model.CallOf("a", "```\nprint(\"````\")\r\n```"), {ID: "", Name: "mail.send", Input: "{\"a\":\n1"}}} {
				for _, stop := range []string{"", model.StopLength} {
					if text == "" && calls == nil && stop == "" {
						continue // the loop sees no such reply
					}
					want := model.Reply{Text: text, Calls: calls, Stop: stop, Usage: model.Usage{In: 5, Out: 7, Cached: 2, Written: 1}, Cost: 1_000_000_001}.Written()
					path := filepath.Join(t.TempDir(), "r.md")
					r, err := model.Record(path, "A test.", model.Tool, "the system\n\n## turn 1\n")
					if err != nil {
						t.Fatal(err)
					}
					for range 2 {
						r.Turn(message, want)
					}
					if err := r.Close(); err != nil {
						t.Fatalf("%d %d: %v", i, j, err)
					}
					p, bad := model.LoadRecording(path)
					if bad != nil {
						t.Fatalf("%d %d: %v", i, j, bad)
					}
					q := model.Request{System: "the system\n\n## turn 1\n", Messages: []model.Message{{Role: model.User, Text: message}}}
					for n := range 2 {
						got, err := p.Generate(t.Context(), q)
						if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) || p.Style() != model.Tool {
							b, _ := os.ReadFile(path)
							t.Fatalf("turn %d is played as\n%#v, %v, want\n%#v\n%s", n+1, got, err, want, b)
						}
						q.Messages = append(q.Messages, model.Message{Role: model.Assistant, Text: got.Text, Calls: got.Calls}, model.Message{Role: model.User, Text: message})
					}
				}
			}
		}
	}
}

func TestRecordingsThatAreNotWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.md")
	r, err := model.Record(path, "A test.", model.Fenced, "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v, want that its owner alone reads it", info.Mode(), err)
	}
	if _, err := model.Record(path, "", model.Fenced, ""); err == nil || !strings.Contains(err.Error(), "is there already\nhint: ") {
		t.Errorf("recorded over another: %v", err)
	}
	r.Turn("go", modeltest.Fenced("x = 1").Written())
	r.Withhold("it is secret")
	r.Turn("the secret", modeltest.Fenced("x = 2").Written())
	if err := r.Close(); err == nil || !strings.HasSuffix(err.Error(), "turn 2 and what follows is not recorded: it is secret") {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "the secret") {
		t.Errorf("%s, %v", b, err)
	}
	if r, err = model.Record(filepath.Join(t.TempDir(), "r.md"), "", model.Fenced, ""); err != nil {
		t.Fatal(err)
	}
	r.Turn("go", model.Reply{Calls: []model.Call{{ID: "a\nb", Name: "run", Input: "{}"}}})
	if err := r.Close(); err == nil || !strings.HasSuffix(err.Error(), "turn 1 cannot be written so that it is read again") {
		t.Error(err)
	}
}

// A conversation that is another one is answered with the lines in which it is.
func TestTheConversationDiffers(t *testing.T) {
	recorded := "## system\n\n> | be kind\n> |\n> | Tools:\n> | mail.list()\n\n## turn 1\n\n> | one\n> | two\n> | three\n> | four\n> | five\n\ndone\n"
	path := filepath.Join(t.TempDir(), "r.md")
	if err := os.WriteFile(path, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	p, bad := model.LoadRecording(path)
	if bad != nil {
		t.Fatal(bad)
	}
	system := "be kind\n\nTools:\nmail.list()"
	for _, test := range []struct {
		name, system, shown string
		line                int
		hint                string
	}{
		{"the same", system, "one\ntwo\nthree\nfour\nfive", 0, ""},
		{"a line is another", system, "one\ntwo\n3\nfour\nfive", 10, "recorded -, here +\n    one\n    two\n  - three\n  + 3\n    four\n    five"},
		{"a line more and one less", system, "one\n1.5\ntwo\nthree\nfive", 10, "recorded -, here +\n    one\n  + 1.5\n    two\n    three\n  - four\n    five"},
		{"nothing of it", system, "", 10, "recorded -, here +\n  - one\n  - two\n  - three\n  - four\n  - five\n  + "},
		{"the system's text", "be kind\n\nTools:\nmail.list()\nmail.send()", "one\ntwo\nthree\nfour\nfive", 1,
			"record it again, or take out this section if it does not matter; recorded -, here +\n    Tools:\n    mail.list()\n  + mail.send()"},
	} {
		q := ask(test.shown)
		q.System = test.system
		_, err := p.Generate(t.Context(), q)
		got, _ := errors.AsType[*model.RecordingError](err)
		if (err == nil) != (test.line == 0) || got != nil && (got.Line != test.line || got.Hint != test.hint) {
			t.Errorf("%s: got %v, want line %d and\n%s", test.name, err, test.line, test.hint)
		}
	}
	var long, other []string
	for i := range 3000 {
		long, other = append(long, fmt.Sprint("a", i)), append(other, fmt.Sprint("b", i))
	}
	if err := os.WriteFile(path, []byte("## turn 1\n\n> | "+strings.Join(long, "\n> | ")+"\n\ndone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, bad = model.LoadRecording(path); bad != nil {
		t.Fatal(bad)
	}
	_, err := p.Generate(t.Context(), ask(strings.Join(other, "\n")))
	if err == nil || strings.Count(err.Error(), "\n") > 45 || !strings.Contains(err.Error(), "… and 5960 lines more") {
		t.Errorf("got %v", err)
	}
}

func TestRecordingsThatCannotBeRead(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no turn", "# nothing\n", "r.md:1:1: got no turn"},
		{"a gap", "## turn 1\nx\n## turn 3\ny\n", "r.md:3:1: got \"## turn 3\", want ## turn 2"},
		{"no reply", "## turn 1\n\n> | go\n", "r.md:1:1: got a turn without a reply"},
		{"tokens that are none", "## turn 1\n> tokens: many\nx\n", "r.md:2:1: tokens: got \"many\""},
		{"fewer than none", "## turn 1\n> tokens: -5 in\nx\n", "r.md:2:1: tokens: got \"-5 in\""},
		{"a cost that is none", "## turn 1\n> cost: 1e3\nx\n", "r.md:2:1: cost: got \"1e3\""},
		{"an end that is none", "## turn 1\n> stop: tired\nx\n", "r.md:2:1: stop: got \"tired\""},
		{"a style that is none", "> reply: json\n\n## turn 1\nx\n", "r.md:1:1: reply: got \"json\""},
		{"a call without a block", "## turn 1\n> call: run a\nx\n", "r.md:3:1: got a call without a block"},
		{"a block that does not end", "## turn 1\n> call: run a\n\n```\nx\n", "got a call without a whole block"},
		{"a reply in two ways", "## turn 1\n> said: a\n\nb\n", "r.md:1:1: got a reply both in lines"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "r.md"), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir)
		if _, bad := model.LoadRecording("r.md"); len(bad) == 0 || !strings.Contains(fmt.Sprint(bad), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, bad, test.want)
		}
	}
}
