package eval

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
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
// makes one test binary that holds all of them, behind a switch, and asks for each whether the noninterference test, [carriesPC] or a vector
// tells it from the evaluator. Those that survive are in testdata/mutants.txt with the reason why.
//
//	go test ./engine/eval -run TestMutants -mutate 100000 -timeout 0 -v
//
// On its way through the pairs, the binary notes in which runs the place of a mutant made a difference to a label, and
// runs the mutant on those alone: on all others it does what the evaluator does. A mutant that is left is then tried on
// programs about those constructs alone that came nearest to it, or to others of its function.

var (
	mutatePairs = flag.Int("mutate", 0, "pairs of runs after which TestMutants gives a mutant up; 0: do not run it")
	mutateAbout = flag.Int("mutate-about", 2000, "pairs about the constructs nearest to a mutant after which TestMutants gives it up")
	mutateOnly  = flag.String("mutants", "", "a pattern of those mutants that TestMutants tries, as it prints them")
	mutateLeft  = flag.String("mutants-left", "", "a table of an earlier run: TestMutants tries only those that it left")
	mutateTable = flag.String("mutants-table", "", "a file to which TestMutants writes a line for each mutant")
	mutateIDs   = flag.String("mutant-ids", "", "a file with the ids of mutants, for the binary that holds them")
)

// mutants is set in the binary that holds them.
var mutants struct {
	now  *int    // which one is on; 0: none
	near []uint8 // by id: how near the runs came to it since this was cleared
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
	k := teller{t: t, left: map[int]*survivor{}}
	around := map[string]map[construct]bool{}
	for line := range strings.Lines(string(text)) {
		var id int
		var fn string
		m := &survivor{where: map[construct]int{}}
		if _, err := fmt.Sscanf(line, "%d %t %q", &id, &m.afresh, &fn); err != nil {
			t.Fatal(err)
		}
		if around[fn] == nil {
			around[fn] = map[construct]bool{}
		}
		k.left[id], m.around = m, around[fn]
	}
	left := k.left
	told := k.told
	debug.SetGCPercent(1000)
	observe = carriesPC // what it panics about tells a mutant too
	programs.most = 0   // what a mutant has worked out for a program is not for the others
	s := *seed
	for n := 0; n < *mutatePairs && len(left) > 0; s++ {
		n += k.pairs(s, construct{}, left)
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		m := left[id]
		near, around := m.closest(), slices.SortedFunc(maps.Keys(m.around), construct.compare)
		for n := 0; n < *mutateAbout && len(around) > 0 && left[id] != nil; s++ {
			list := around
			if s%2 == 0 && len(near) > 0 {
				list = near
			}
			n += max(1, k.pairs(s, list[int(s/2)%len(list)], map[int]*survivor{id: m}))
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
	for id, m := range left {
		fmt.Printf("left %d: not in %d pairs, in %d of which it made a difference to a label, of %d with a label to leave out\n", id, m.tried, m.ever, m.met)
	}
}

// survivor is a mutant that nothing has told yet.
type survivor struct {
	afresh bool // what it changes is worked out once for a program
	tried  int  // pairs
	met    int  // of them, those with a label to leave out
	ever   int  // of them, those in which it made a difference to a label
	where  map[construct]int
	around map[construct]bool // constructs that came near to a mutant of its function
}

func (c construct) compare(d construct) int { return strings.Compare(c.text, d.text) }

// How near a construct has come to a mutant.
const (
	nearRun  = 1 + iota // its code ran
	nearMet             // with a label to leave out
	nearLive            // which made a difference
)

// closest are the constructs that have come nearest to a mutant.
func (m *survivor) closest() []construct {
	var out []construct
	best := 0
	for c, near := range m.where {
		if near > best {
			out, best = nil, near
		}
		if near == best {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, construct.compare)
	return out
}

// teller runs mutants.
type teller struct {
	t    *testing.T
	left map[int]*survivor
}

func (k *teller) told(id int, format string, args ...any) {
	fmt.Printf("told %d: %s\n", id, fmt.Sprintf(format, args...))
	delete(k.left, id)
}

// pairs tries some mutants on the pairs of one program, and returns how many there were.
func (k *teller) pairs(seed uint64, about construct, some map[int]*survivor) (pairs int) {
	c, err := caseAbout(rand.New(rand.NewPCG(seed, 7)), seed, about)
	if err != nil {
		k.t.Fatal(err)
	}
	clear(mutants.near)
	a, err := c.run(&variant{in: c.base})
	if err != nil {
		k.t.Fatal(err)
	}
	base := slices.Clone(mutants.near)
	runs := map[int]*trace{} // of mutants on the base
	for i := range c.others {
		v := &c.others[i]
		if a.dead&v.observer.bit != 0 && i%4 != 0 {
			continue
		}
		pairs++
		clear(mutants.near)
		b, err := c.run(v)
		if err != nil {
			k.t.Fatal(err)
		}
		var other []uint8
		other = append(other, mutants.near...)
		if found, _, _ := c.compare(a, b, v); found != nil {
			k.t.Fatalf("the evaluator itself is found: %s", found)
		}
		for id, m := range some {
			near := max(base[id], other[id])
			m.tried++
			if near >= nearMet {
				m.met++
			}
			if near > 0 && len(c.used) == 1 && about == (construct{}) {
				m.where[c.used[0]] = max(m.where[c.used[0]], int(near))
				m.around[c.used[0]] = true
			}
			if near < nearLive {
				continue
			}
			m.ever++
			*mutants.now = id
			ma, mb := a, b
			if m.afresh {
				base[id] = nearLive // the variant alone may have met it first
				was, other := c.program, c.other
				if err = c.compile(); err != nil {
					k.t.Fatal(err)
				}
				if ma, err = c.run(&variant{in: c.base}); err == nil {
					mb, err = c.run(v)
				}
				c.program, c.other = was, other
			} else {
				if base[id] == nearLive {
					if runs[id] == nil {
						runs[id], err = c.run(&variant{in: c.base})
					}
					ma = runs[id]
				}
				if err == nil && other[id] == nearLive {
					mb, err = c.run(v)
				}
			}
			*mutants.now = 0
			if err != nil {
				k.told(id, "crash after %d pairs: %.100v", m.tried, err)
				delete(some, id)
				continue
			}
			if found, _, _ := c.compare(ma, mb, v); found != nil {
				k.told(id, "%d pairs", m.tried)
				delete(some, id)
			}
		}
	}
	return pairs
}

// excused reads why mutants survive: lines of "function | source | change: reason".
func excused(t *testing.T) map[string]string {
	b, err := os.ReadFile(filepath.Join("testdata", "mutants.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
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

// TestMutantsListed checks that what is listed is there still.
func TestMutantsListed(t *testing.T) {
	if mutants.now != nil {
		t.Skip("the binary that holds the mutants is made of other text")
	}
	_, all := mutate(t, t.TempDir())
	have := map[string]bool{}
	for _, m := range all {
		have[m.key()] = true
	}
	for key := range excused(t) {
		if !have[key] {
			t.Errorf("testdata/mutants.txt: there is no mutant %q: strike it, or give it the text that it has now", key)
		}
	}
}

// leftBefore reads which mutants an earlier run left; nil: there was none.
func leftBefore(t *testing.T) map[string]bool {
	if *mutateLeft == "" {
		return nil
	}
	b, err := os.ReadFile(*mutateLeft)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		m, how, _ := strings.Cut(line, " => ")
		if _, key, ok := strings.Cut(m, ": "); ok && strings.HasPrefix(how, "not in ") {
			out[key] = true
		}
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
	again := leftBefore(t)
	for _, m := range all {
		if only.MatchString(m.String()) && (again == nil || again[m.key()]) {
			byID[m.id] = m
			fmt.Fprintf(&list, "%d %t %q\n", m.id, m.file == "region.go", m.file+" "+m.fn)
		}
	}
	if err := os.WriteFile(ids, []byte(list.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	told := exec.CommandContext(t.Context(), bin, "-test.run", "^TestToldMutants$", "-test.timeout", "0",
		"-mutate", strconv.Itoa(*mutatePairs), "-mutate-about", strconv.Itoa(*mutateAbout), "-mutant-ids", ids, "-seed", strconv.FormatUint(*seed, 10), "-vectors", *vectorDir)
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
		if err != nil || !ok || word != "told" && word != "left" {
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
