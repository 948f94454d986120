package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func answersOf(t *testing.T, text string) (*Answers, []*RecordingError) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadAnswers(path)
}

func TestAnswersAreFoundByWhatIsAsked(t *testing.T) {
	a, bad := answersOf(t, "# What the quarantined model answers\n\nFor readers.\n\n## answer 02\n\n> expect: order\n> expect: 02.eml\n\n```json\n{\n## answer\n}\n```\r\n\n## answer\n> expect: 01.eml\n\nno\n\n### again\n\nfalse\n")
	if bad != nil {
		t.Fatal(bad)
	}
	ask := func(asked string, before ...string) string {
		q := Request{Messages: []Message{{User, asked, nil}}}
		for _, text := range before {
			q.Messages = append(q.Messages, Message{Assistant, text, nil}, Message{User, "that does not fit 02.eml", nil})
		}
		r, err := a.Generate(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		return r.Text
	}
	for _, test := range []struct {
		name, asked string
		before      []string
		want        string
	}{
		{"the second first", "01.eml?", nil, "no"},
		{"the first", "an order in 02.eml", nil, "```json\n{\n## answer\n}\n```"},
		{"again", "01.eml?", []string{"no"}, "false"},
		{"once too often", "01.eml?", []string{"no", "false"}, "answers.md:16:1: the answer has been given, and does not fit: it was asked again (3)"},
		{"in another order", "02.eml order", nil, `answers.md:8:1: no answer fits what was asked; the nearest expects "02.eml"`},
		{"neither", "03.eml", nil, `answers.md:7:1: no answer fits what was asked; the nearest expects "order"`},
		{"both", "order 02.eml 01.eml", nil, "answers.md:16:1: two answers fit what was asked, this one and that of line 5"},
	} {
		if got := ask(test.asked, test.before...); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got := ask("03.eml"); !strings.Contains(got, "  | 03.eml") {
		t.Errorf("got %q, want what was asked in it", got)
	}
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "# words\n", "answers.md:1:1: got no answer"},
		{"no text", "## answer\n> expect: a\n\n## answer\n\nb\n", "answers.md:1:1: got a heading without an answer"},
		{"no text again", "## answer\n\nb\n\n### again\n", "answers.md:5:1: got a heading without an answer"},
		{"another heading", "## answer\n\nb\n\n## turn 1\n", `answers.md:5:1: got "## turn 1", want ## answer, or ### again`},
	} {
		_, bad := answersOf(t, test.text)
		if len(bad) != 1 || !strings.Contains(bad[0].Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, bad, test.want)
		}
	}
	if _, bad := LoadAnswers(filepath.Join(t.TempDir(), "none.md")); len(bad) != 1 {
		t.Errorf("a file that is not there: got %v", bad)
	}
}
