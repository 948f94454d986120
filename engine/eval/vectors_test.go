package eval

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/engine/label"
	"callgate/engine/value"
)

var (
	update    = flag.Bool("update", false, "write what the vectors give into their files")
	vectorDir = flag.String("vectors", "../../spec/vectors/flow", "the folder of the vectors")
)

// A vector of spec/vectors/flow is a txtar archive: its comment names the rule; "inputs" has a line for
// each input, its values separated by |, then its label; "1.star", "2.star" … are the turns; "want"
// says what the first values give: every call with the label of its control flow and those of its arguments and of what is in them,
// how each turn ended, the floor. Besides, no two choices of values may differ for an observer who
// cannot see what was changed. "authors" has a line for each turn, the label of who wrote it; "names" names what is asked of the session
// in the end; "deny" has the name of a builtin that is refused what does not flow to a label, and that label; a turn that
// begins with [rejected] does not compile. Those named everyday-… are programs as people and models write them: the floor
// must stay low.
type flowVector struct {
	inputs  []vectorInput
	turns   []string
	authors []label.Label
	names   []string
	want    string
	deny    string
	above   label.Label // what deny is refused on does not flow here
}

type vectorInput struct {
	name   string
	values []string
	label  label.Label
}

func parseVector(t *testing.T, a *txtar.Archive) flowVector {
	var v flowVector
	for _, f := range a.Files {
		text := string(f.Data)
		switch {
		case f.Name == "inputs":
			for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
				name, rest, ok := strings.Cut(line, "=")
				i := strings.LastIndex(rest, " ")
				if !ok || i < 0 {
					t.Fatalf("inputs: got %q, want name = value | value label", line)
				}
				l, err := label.Parse(rest[i+1:])
				if err != nil {
					t.Fatal(err)
				}
				in := vectorInput{name: strings.TrimSpace(name), label: l}
				for _, x := range strings.Split(rest[:i], "|") {
					in.values = append(in.values, strings.TrimSpace(x))
				}
				v.inputs = append(v.inputs, in)
			}
		case f.Name == "deny":
			name, text, _ := strings.Cut(strings.TrimSpace(text), " ")
			l, err := label.Parse(text)
			if err != nil || !Builtin(name) {
				t.Fatalf("deny: got %s %s, want a builtin and a label: %v", name, text, err)
			}
			v.deny, v.above = name, l
		case f.Name == "want":
			v.want = text
		case f.Name == "authors":
			for line := range strings.Lines(text) {
				l, err := label.Parse(strings.TrimSpace(line))
				if err != nil {
					t.Fatal(err)
				}
				v.authors = append(v.authors, l)
			}
		case f.Name == "names":
			v.names = strings.Fields(text)
		case strings.HasSuffix(f.Name, ".star"):
			v.turns = append(v.turns, text)
		default:
			t.Fatalf("got a file %s, want inputs, authors, names, deny, N.star and want", f.Name)
		}
	}
	return v
}

// choose returns the inputs with the n-th combination of values; ok is false past the last.
func (v flowVector) choose(n int) (out []Input, index []int, ok bool) {
	for _, in := range v.inputs {
		i := n % len(in.values)
		n /= len(in.values)
		index = append(index, i)
		out = append(out, Input{in.name, parseInput(in.values[i], in.label)})
	}
	return out, index, n == 0
}

// parseInput reads an int, a text in quotes, or a list of ints or texts whose elements have the label and
// whose reference and structure are low; with "!" behind it, the structure has the label too.
func parseInput(s string, l label.Label) value.Value {
	switch {
	case strings.HasPrefix(s, "["):
		v := value.ListOf(lowLabel)
		inner := strings.TrimSuffix(s, "!")
		if inner != s {
			v.Structure = l
		}
		inner = strings.Trim(inner, "[]")
		if inner != "" {
			for _, e := range strings.Split(inner, ",") {
				v.Items = append(v.Items, parseInput(strings.TrimSpace(e), l))
			}
		}
		return v
	case strings.HasPrefix(s, `"`):
		u, err := strconv.Unquote(s)
		if err != nil {
			panic(err)
		}
		return value.StringOf(u, l)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return value.IntOf(n, l)
}

// story tells what happened, with labels.
func story(tr *trace) string {
	var b strings.Builder
	for _, e := range tr.events {
		if e.asked || e.ended {
			continue
		}
		fmt.Fprintf(&b, "%s pc=%s", e.what, e.pc)
		for _, a := range e.args {
			fmt.Fprintf(&b, " %s:%s", a.Value.Text(), a.Value.Label)
			if !a.Value.Scalar() {
				fmt.Fprintf(&b, ":%s", a.Value.Structure)
				tellParts(&b, &a.Value, "")
			}
			if e.what == "print" {
				break // the text has it all
			}
		}
		b.WriteString("\n")
	}
	for i, o := range tr.ends {
		fmt.Fprintf(&b, "turn %d: %s", i+1, o.Status)
		if o.Err != nil {
			fmt.Fprintf(&b, " %s %s", o.Err.Public(), o.Err.Label)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "floor %s\n", tr.s.Floor())
	return b.String()
}

// tellParts tells the labels of what is in a value, with the way there, where they are not low; of a key the way ends in k.
func tellParts(b *strings.Builder, v *value.Value, way string) {
	tell := func(e *value.Value, way string) {
		if !e.Label.FlowsTo(lowLabel) {
			fmt.Fprintf(b, " %s:%s", way, e.Label)
		}
		if !e.Scalar() {
			if !e.Structure.FlowsTo(lowLabel) {
				fmt.Fprintf(b, " %s:%s", way+"#", e.Structure)
			}
			tellParts(b, e, way)
		}
	}
	for i := range v.Keys {
		tell(&v.Keys[i], fmt.Sprintf("%s.%dk", way, i))
	}
	for i := range v.Items {
		tell(&v.Items[i], fmt.Sprintf("%s.%d", way, i))
	}
}

// vectorInputs are what the tools of vectors answer.
func vectorInputs() *niInputs {
	in := &niInputs{}
	for i := range in.g {
		in.g[i] = group{lowLabel, []int64{1}}
	}
	for i := range 8 {
		in.g[gStream+i].vals = []int64{[]int64{1, 0, 2}[i%3]}
	}
	for i := range 3 {
		in.g[gKind+i] = group{label.New(label.Internal, label.Public(), nil), []int64{int64(i)}}
		in.g[gBody+i] = group{label.New(label.Untrusted, label.Public(), nil), []int64{int64(i)}}
	}
	in.g[gInbox].vals = []int64{0, 1, 2}
	return in
}

// runs runs the turns on every choice of values.
func (v flowVector) runs() (traces []*trace, chosen [][]int, err error) {
	var names []string
	for _, in := range v.inputs {
		names = append(names, in.name)
	}
	p, err := compileTurns(v.turns, names)
	if err != nil {
		return nil, nil, err
	}
	for n := 0; ; n++ {
		in, index, ok := v.choose(n)
		if !ok {
			return traces, chosen, nil
		}
		tools := vectorInputs()
		tools.what, tools.deny = v.deny, v.above
		tr, err := p.run(in, tools, false, v.authors...)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range v.names {
			x, err := tr.s.Get(n)
			if err != nil {
				return nil, nil, err
			}
			tr.events = append(tr.events, event{who: seenBy(tr.s.Floor()), what: "name " + n, pc: tr.s.Floor(), args: []Arg{{n, x}}})
		}
		traces, chosen = append(traces, tr), append(chosen, index)
	}
}

// told says who can tell which choices from each other, although what differs is hidden from them.
func (v flowVector) told(traces []*trace, chosen [][]int) (out []string) {
	for i := range traces {
		for j := range i {
			for _, o := range observers {
				hidden := true
				for k, in := range v.inputs {
					if chosen[i][k] != chosen[j][k] && o.sees(in.label) {
						hidden = false
					}
				}
				if !hidden {
					continue
				}
				if d, _ := differ(traces[j], traces[i], o); d != "" {
					out = append(out, fmt.Sprintf("%s can tell %v from %v: %s", o.name, chosen[j], chosen[i], d))
				}
			}
		}
	}
	return out
}

func TestFlowVectors(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(*vectorDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			v := parseVector(t, a)
			traces, chosen, err := v.runs()
			if err != nil {
				t.Fatal(err)
			}
			got := story(traces[0])
			if *update {
				for i := range a.Files {
					if a.Files[i].Name == "want" {
						a.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := cmp.Diff(v.want, got); d != "" {
				t.Errorf("first values (-want +got):\n%s", d)
			}
			if strings.HasPrefix(filepath.Base(path), "everyday-") {
				for i, tr := range traces {
					if floor := tr.s.Floor(); !floor.SameClass(lowLabel) {
						t.Errorf("%v: the floor is %s: an everyday program must leave it low", chosen[i], floor)
					}
				}
			}
			for _, told := range v.told(traces, chosen) {
				t.Error(told)
			}
		})
	}
}
