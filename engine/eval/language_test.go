package eval

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

const languagePage = "../../spec/language.md"

// exampleHost answers the calls of the examples: files.read knows one file, everything else is granted.
type exampleHost struct{}

func (exampleHost) Do(_ context.Context, calls []Call) []Result {
	out := make([]Result, len(calls))
	for i, c := range calls {
		out[i].Value = value.NoneOf(label.Bottom())
		switch {
		case c.Tool == "files.read" && c.Args[0].Value.Str == "a.txt":
			out[i].Value = value.DictOf(label.Bottom(), value.Field{Name: "text", Of: value.StringOf("hello", label.Bottom())}, value.Field{Name: "size", Of: value.IntOf(5, label.Bottom())})
		case c.Tool == "files.read":
			out[i].Err = &CallError{Code: "not-found", Text: "files.read: no such file", Label: label.Bottom()}
		case c.Tool == "mail.send":
			out[i].Err = &CallError{Code: "denied (mail.recipient)", Text: "mail.send: denied (mail.recipient)", Label: label.Bottom(), Deny: true}
		case c.Kind == KindEndorse || c.Kind == KindDeclassify:
			out[i].Value = c.Args[0].Value
		}
	}
	return out
}

var (
	runFences = regexp.MustCompile("(?ms)^```starlark run\n(.*?)^```$")
	printed   = regexp.MustCompile(`(?m)#> ?(.*)$`)
	ends      = regexp.MustCompile(`(?m)### (.*)$`)
)

// TestTheExamplesOfTheSpecificationRun runs the examples of spec/language.md that are marked "run".
func TestTheExamplesOfTheSpecificationRun(t *testing.T) {
	data, err := os.ReadFile(languagePage)
	if err != nil {
		t.Fatal(err)
	}
	fences := runFences.FindAllSubmatchIndex(data, -1)
	for _, m := range fences {
		s, err := NewSession(Config{Host: exampleHost{}, Tools: []ToolSig{
			{Name: "files.read", Params: []string{"path"}}, {Name: "mail.send", Params: []string{"to", "body"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		line := 1 + strings.Count(string(data[:m[2]]), "\n")
		for turn := range strings.SplitSeq(string(data[m[2]:m[3]]), "\n\n") {
			example(t, s, strings.Repeat("\n", line-1)+turn)
			line += strings.Count(turn, "\n") + 2
		}
	}
	if len(fences) < 10 {
		t.Errorf("%d examples, want more", len(fences))
	}
}

// example runs one turn, and compares what it prints and how it ends with its comments.
func example(t *testing.T, s *Session, src string) {
	t.Helper()
	p, err := Compile("language.md", []byte(src), s.Env())
	if err != nil {
		t.Error(err)
		return
	}
	out, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][]string{}
	for _, p := range out.Prints {
		got[p.Site.Line] = append(got[p.Site.Line], strings.TrimSuffix(p.Text, "\n"))
	}
	for i, text := range strings.Split(src, "\n") {
		line := i + 1
		want := ""
		if m := printed.FindStringSubmatch(text); m != nil {
			want = m[1]
		}
		if was := strings.Join(got[line], " | "); was != want {
			t.Errorf("language.md:%d: prints %q, want %q", line, was, want)
		}
		problem := ""
		if m := ends.FindStringSubmatch(text); m != nil {
			problem = m[1]
		}
		was := ""
		if out.Err != nil && out.Err.Site.Line == line {
			was = out.Err.Text
		}
		if was != problem {
			t.Errorf("language.md:%d: ends with %q, want %q", line, was, problem)
		}
	}
}

// described finds the names that the tables of a section describe: in the first column, each before a parenthesis.
func described(t *testing.T, section string) []string {
	data, err := os.ReadFile(languagePage)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s has no section %s", languagePage, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`([\\w.]+)\\(").FindAllStringSubmatch(row[1], -1) {
			out = append(out, m[1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inModules are the modules that have tables of their own.
var inModules = map[string]bool{"collections": true, "datetime": true, "itertools": true, "re": true, "textwrap": true}

// TestTheSpecificationNamesEveryFunction holds the tables of spec/language.md against the universe.
func TestTheSpecificationNamesEveryFunction(t *testing.T) {
	var functions, names, modules []string
	for name, v := range universe {
		if strings.HasPrefix(name, "<") && v.k != kModule { // syntax, not a function
			continue
		}
		switch v.k {
		case kBuiltin:
			functions = append(functions, name)
		case kModule:
			for attr, f := range v.module().attrs {
				name := v.module().name + "." + attr
				switch {
				case f.k != kBuiltin:
				case !inModules[v.module().name]:
					functions = append(functions, name)
				default:
					modules = append(modules, name)
					if m := f.builtin().def.attrs; m != nil {
						for _, attr := range m.names() {
							if m.attrs[attr].k == kBuiltin {
								modules = append(modules, name+"."+attr)
							}
						}
					}
				}
			}
		}
	}
	for k, list := range methodsOf {
		for _, name := range list {
			names = append(names, kind(k).typeName()+"."+name)
		}
	}
	for _, c := range classes {
		for name := range c.methods {
			if name[0] != '<' && c != namedType {
				modules = append(modules, c.name+"."+name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if strings.HasPrefix(name, "deque.") {
			modules = append(modules, name)
			return true
		}
		return false
	})
	for _, test := range []struct {
		section string
		want    []string
	}{
		{"Modules", modules},
		{"The universe", functions},
		{"Methods", names},
	} {
		slices.Sort(test.want)
		got := described(t, test.section)
		for _, name := range test.want {
			if !slices.Contains(got, name) {
				t.Errorf("%s, %s: %s is not described: give it a row", languagePage, test.section, name)
			}
		}
		for _, name := range got {
			if !slices.Contains(test.want, name) {
				t.Errorf("%s, %s: %s is described, and there is no such function", languagePage, test.section, name)
			}
		}
	}
}

// row is a difference from go.starlark.net in the last table of spec/language.md.
type row struct{ rule, program, there, here string }

func differencesOfThePage(t *testing.T) []row {
	data, err := os.ReadFile(languagePage)
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for _, m := range regexp.MustCompile(`(?m)^\| (diff\.\w+) \| (.*?) \| (.*?) \| (.*?) \| .+ \|$`).FindAllStringSubmatch(string(data), -1) {
		out = append(out, row{m[1], m[2], m[3], m[4]})
	}
	return out
}

// says reports whether a result is what a cell of the table says: the repr of x in backquotes, or a part of the
// text of an error, perhaps after its line.
func (cell row) says(text string, got stockResult) bool {
	if v, ok := strings.CutPrefix(text, "`"); ok {
		return got.problem == "" && got.globals["x"] == strings.TrimSuffix(v, "`")
	}
	if rest, ok := strings.CutPrefix(text, fmt.Sprintf("line %d: ", got.line)); ok {
		text = rest
	}
	return got.problem != "" && strings.Contains(got.problem, text)
}

// TestTheDifferencesFromStarlark runs the programs of the table of differences here and on go.starlark.net.
func TestTheDifferencesFromStarlark(t *testing.T) {
	rules := map[string]bool{}
	shown := map[string]bool{}
	for _, r := range differencesOfThePage(t) {
		rules[r.rule] = true
		src, ok := strings.CutPrefix(r.program, "`")
		if !ok {
			continue
		}
		shown[r.rule] = true
		src = strings.ReplaceAll(strings.TrimSuffix(src, "`"), " ⏎ ", "\n") + "\n"
		there, here := runStock(src), runHere(t, src)
		if !r.says(r.there, there) {
			t.Errorf("%s: %son go.starlark.net gives %q %q at line %d, the page says %s", r.rule, src, there.globals["x"], there.problem, there.line, r.there)
		}
		if !r.says(r.here, here) {
			t.Errorf("%s: %shere gives %q %q at line %d, the page says %s", r.rule, src, here.globals["x"], here.problem, here.line, r.here)
		}
	}
	for _, d := range differences {
		shown[d.rule] = true
		if !rules[d.rule] {
			t.Errorf("%s: lines of %s are left out, and the page has no such rule", d.rule, d.file)
		}
	}
	for _, k := range stockKnown {
		if !rules[k.rule] {
			t.Errorf("%s: the page has no such rule", k.rule)
		}
	}
	for rule := range rules {
		if !shown[rule] {
			t.Errorf("%s: nothing shows that there is such a difference", rule)
		}
	}
}
