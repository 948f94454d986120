package spec

import (
	"os/exec"
	"strings"
	"testing"
)

// TestFlowModel runs the model of the rules of labels: no program that leaked once does so under today's rules, and
// some random ones do not either.
func TestFlowModel(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	model := func(args ...string) string {
		cmd := exec.Command(python, append([]string{"-B"}, args...)...)
		cmd.Dir = "flow-model"
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
		return string(out)
	}
	cases := 0
	for line := range strings.Lines(model("cases.py")) {
		if name, says, ok := strings.Cut(line, " replaced "); ok {
			cases++
			if !strings.HasPrefix(strings.TrimSpace(says), "ok ") {
				t.Errorf("%s: %s", strings.TrimSpace(name), says)
			}
		}
	}
	if cases < 10 {
		t.Errorf("got %d cases", cases)
	}
	if out := model("fuzz.py", "150"); !strings.Contains(out, "none in ") {
		t.Error(out)
	}
}
