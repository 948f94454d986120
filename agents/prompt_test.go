package agents

import (
	"strings"
	"testing"

	"callgate/engine/syntax"
)

// TestThePromptSaysWhatTheLanguageHas parses what the prompt says is there, and what it says is not.
func TestThePromptSaysWhatTheLanguageHas(t *testing.T) {
	parses := func(src string) bool {
		_, err := syntax.Parse("x.star", []byte(src), syntax.Limits{})
		return err == nil
	}
	for _, test := range []struct{ word, src string }{
		{"with", "with open(x) as f: pass\n"},
		{"yield", "def f(): yield 1\n"},
		{"async", "async def f(): pass\n"},
		{"no classes", "class A:\n  def f(self): pass\n"},
	} {
		if !strings.Contains(dialect, test.word) || parses(test.src) {
			t.Errorf("%s: the prompt says that it is not there; is that so? %q", test.word, test.src)
		}
	}
	for _, test := range []struct{ word, src string }{
		{"@dataclass", "@dataclass\nclass A:\n  x: int = 0\n"},
		{"constants", "class A:\n  X = 1\n"},
		{"try/except", "try: f()\nexcept ToolError as e: pass\n"},
	} {
		if !strings.Contains(dialect, test.word) || !parses(test.src) {
			t.Errorf("%s: the prompt says that it is there; is that so? %q", test.word, test.src)
		}
	}
	for _, m := range syntax.Modules {
		if !strings.Contains(dialect, " "+m+",") && !strings.Contains(dialect, " "+m+".") {
			t.Errorf("the prompt does not name the module %s", m)
		}
	}
	// A token is about four characters: it is said again in each run.
	if n := len(dialect) / 4; n > 500 {
		t.Errorf("the language takes about %d tokens, want 500 at most", n)
	} else {
		t.Logf("about %d tokens", n)
	}
}
