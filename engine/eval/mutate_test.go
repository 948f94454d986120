package eval

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A mutant is the evaluator without one of the things that its labels rest on: one operand of a join, a pc that is
// raised, a structure label that is read, an announcement, the label of an error. TestMutants
// makes one test binary that holds all of them, behind a switch, and asks for each whether the noninterference test, or a vector,
// tells it from the evaluator. Those that survive are in testdata/mutants.txt with the reason why.
//
//	go test ./engine/eval -run TestMutants -mutate 100000 -timeout 0 -v
//
// On its way through the pairs, the binary notes in which runs the place of a mutant made a difference to a label, and
// runs the mutant on those alone: on all others it does what the evaluator does.

var (
	mutatePairs = flag.Int("mutate", 0, "pairs of runs after which TestMutants gives a mutant up; 0: do not run it")
	mutateOnly  = flag.String("mutants", "", "a pattern of those mutants that TestMutants tries, as it prints them")
	mutateTable = flag.String("mutants-table", "", "a file to which TestMutants writes a line for each mutant")
	mutateIDs   = flag.String("mutant-ids", "", "a file with the ids of mutants, for the binary that holds them")
)

// mutants is set in the binary that holds them.
var mutants struct {
	now  *int   // which one is on; 0: none
	live []bool // by id: whether it would have made a difference since this was cleared
}

// TestToldMutants prints, for each mutant of the binary, how it is told from the evaluator.
func TestToldMutants(t *testing.T) {
	if mutants.now == nil {
		t.Skip("for the binary that TestMutants makes")
	}
	text, err := os.ReadFile(*mutateIDs)
	if err != nil {
		t.Fatal(err)
	}
	left, afresh := map[int]bool{}, map[int]bool{} // afresh: what it changes is worked out once for a program
	for line := range strings.Lines(string(text)) {
		var id int
		var once bool
		if _, err := fmt.Sscan(line, &id, &once); err != nil {
			t.Fatal(err)
		}
		left[id], afresh[id] = true, once
	}
	debug.SetGCPercent(1000)
	programs.most = 0 // what a mutant has worked out for a program is not for the others
	ever := map[int]int{}
	told := func(id int, format string, args ...any) {
		fmt.Printf("told %d: %s\n", id, fmt.Sprintf(format, args...))
		delete(left, id)
	}
	for pairs, s := 0, *seed; pairs < *mutatePairs && len(left) > 0; s++ {
		c, err := newCase(rand.New(rand.NewPCG(s, 7)), s)
		if err != nil {
			t.Fatal(err)
		}
		clear(mutants.live)
		a, err := c.run(&c.base)
		if err != nil {
			t.Fatal(err)
		}
		base := slices.Clone(mutants.live)
		runs := map[int]*trace{} // of mutants on the base
		for i := range c.others {
			v := &c.others[i]
			if a.dead&v.observer.bit != 0 && i%4 != 0 {
				continue
			}
			pairs++
			clear(mutants.live)
			b, err := c.run(&v.in)
			if err != nil {
				t.Fatal(err)
			}
			live := slices.Clone(mutants.live)
			if found, _, _ := c.compare(a, b, v); found != nil {
				t.Fatalf("the evaluator itself is found: %s", found)
			}
			for id := range left {
				if !base[id] && !live[id] {
					continue
				}
				ever[id]++
				*mutants.now = id
				ma, mb := a, b
				if afresh[id] {
					base[id] = true // the variant alone may have met it first
					was := c.program
					if c.program, err = compileTurns(c.turns, inputNames); err != nil {
						t.Fatal(err)
					}
					if ma, err = c.run(&c.base); err == nil {
						mb, err = c.run(&v.in)
					}
					c.program = was
				} else {
					if base[id] {
						if runs[id] == nil {
							runs[id], err = c.run(&c.base)
						}
						ma = runs[id]
					}
					if err == nil && live[id] {
						mb, err = c.run(&v.in)
					}
				}
				*mutants.now = 0
				if err != nil {
					told(id, "crash after %d pairs: %.100v", pairs, err)
					continue
				}
				if found, _, _ := c.compare(ma, mb, v); found != nil {
					told(id, "%d pairs", pairs)
				}
			}
		}
	}
	paths, err := filepath.Glob(filepath.Join(*vectorDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v := parseVector(t, archive)
		for id := range left {
			*mutants.now = id
			traces, chosen, err := v.runs()
			*mutants.now = 0
			switch name := filepath.Base(path); {
			case err != nil:
				told(id, "crash of vector %s: %.100v", name, err)
			case len(v.told(traces, chosen)) > 0:
				told(id, "vector %s", name)
			case story(traces[0]) != v.want:
				told(id, "labels of vector %s", name)
			}
		}
	}
	for id := range left {
		fmt.Printf("left %d: not in %d pairs, in %d of which it made a difference to a label\n", id, *mutatePairs, ever[id])
	}
}

// excused reads why mutants survive: lines of "function | source | change: reason".
func excused(t *testing.T) map[string]string {
	b, err := os.ReadFile(filepath.Join("testdata", "mutants.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndex(line, " :: ")
		if i < 0 {
			t.Fatalf("testdata/mutants.txt: got %q, want function | source | change :: reason", line)
		}
		out[line[:i]] = line[i+4:]
	}
	return out
}

func TestMutants(t *testing.T) {
	if *mutatePairs == 0 || mutants.now != nil {
		t.Skip("takes long: -mutate 100000")
	}
	only, err := regexp.Compile(*mutateOnly)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay, all := mutate(t, dir)
	bin, ids := filepath.Join(dir, "mutants.test"), filepath.Join(dir, "ids")
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	byID := map[int]mutant{}
	var list strings.Builder
	for _, m := range all {
		if only.MatchString(m.String()) {
			byID[m.id] = m
			fmt.Fprintln(&list, m.id, m.file == "region.go")
		}
	}
	if err := os.WriteFile(ids, []byte(list.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	told := exec.CommandContext(t.Context(), bin, "-test.run", "^TestToldMutants$", "-test.timeout", "0",
		"-mutate", strconv.Itoa(*mutatePairs), "-mutant-ids", ids, "-seed", strconv.FormatUint(*seed, 10), "-vectors", *vectorDir)
	told.Stderr = os.Stderr
	lines, err := told.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := told.Start(); err != nil {
		t.Fatal(err)
	}
	var table *os.File
	if *mutateTable != "" {
		if table, err = os.Create(*mutateTable); err != nil {
			t.Fatal(err)
		}
		defer table.Close()
	}
	excuses := excused(t)
	found, survived := 0, 0
	var rest []string
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		what, how, _ := strings.Cut(scan.Text(), ": ")
		word, number, _ := strings.Cut(what, " ")
		id, err := strconv.Atoi(number)
		m, ok := byID[id]
		if err != nil || !ok {
			rest = append(rest, scan.Text())
			continue
		}
		if table != nil {
			fmt.Fprintf(table, "%s => %s\n", m, how)
		}
		reason, listed := excuses[m.key()]
		switch {
		case word == "told":
			found++
			if listed {
				t.Errorf("%s: is told by %s: strike it from testdata/mutants.txt", m, how)
			}
		case listed:
			survived++
			t.Logf("%s: %s, as it should be: %s", m, how, reason)
		default:
			survived++
			t.Errorf("%s: %s", m, how)
		}
	}
	if err := told.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(rest, "\n"))
	}
	t.Logf("%d mutants told, %d not", found, survived)
}
