package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is a fenced block of a page that is a file (```yaml file=NAME, with the word problems if it is
// wrong on purpose) or what is found wrong with one (```text want=NAME).
type example struct {
	file  string
	want  string
	wrong bool
	text  string
}

// examples returns the marked blocks of a page.
func examples(page string) []example {
	var out []example
	var in *example
	fenced := false
	for _, line := range strings.SplitAfter(page, "\n") {
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case fenced && fence:
			if in != nil {
				out = append(out, *in)
			}
			in, fenced = nil, false
		case in != nil:
			in.text += line
		case fence:
			fenced = true
			for _, word := range strings.Fields(mark) {
				key, value, _ := strings.Cut(word, "=")
				switch {
				case key == "file" && value != "":
					in = &example{file: value}
				case key == "want" && value != "":
					in = &example{want: value}
				case key == "problems" && in != nil:
					in.wrong = true
				}
			}
		}
	}
	return out
}

// TestExamples loads the examples of the page, all of them in one folder.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("agent.md")
	if err != nil {
		t.Fatal(err)
	}
	all := examples(string(page))
	t.Chdir(t.TempDir())
	kinds := map[string]int{}
	problems := map[string]string{}
	for _, e := range all {
		if e.file != "" {
			write(t, e.file, e.text)
		}
	}
	for _, e := range all {
		if filepath.Ext(e.file) != ".yaml" || strings.HasSuffix(e.file, "book.yaml") {
			continue
		}
		docs, ps := LoadFile(e.file)
		for _, m := range docs.metas() {
			kinds[m.kind]++
		}
		for _, p := range ps {
			problems[e.file] += p.String() + "\n"
		}
		if e.wrong != (len(ps) > 0) {
			t.Errorf("%s: problems %v", e.file, ps)
		}
		if filepath.Base(e.file) == AgentFile && !e.wrong {
			if p, ps := Load(filepath.Dir(e.file), ""); len(ps) > 0 || p.Agent == nil {
				t.Errorf("%s: problems of the whole %v", e.file, ps)
			}
		}
	}
	for _, e := range all {
		if e.want != "" {
			if diff := cmp.Diff(problems[e.want], e.text); diff != "" {
				t.Errorf("what the page says of %s (-is +says):\n%s", e.want, diff)
			}
		}
	}
	for _, kind := range Kinds() {
		if kinds[kind] == 0 {
			t.Errorf("no example of a %s", kind)
		}
	}
}

var table = regexp.MustCompile(`(?s)<!-- keys: (\w+) -->\n(.*?)<!-- end -->`)

// TestTables holds the tables of keys in the pages in step with the loader. Run it with -update to write them.
func TestTables(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := table.ReplaceAllStringFunc(string(page), func(s string) string {
			kind := table.FindStringSubmatch(s)[1]
			if shapes[kind] == nil {
				t.Errorf("%s: no kind %s", name, kind)
				return s
			}
			found[kind] = true
			return fmt.Sprintf("<!-- keys: %s -->\n%s<!-- end -->", kind, keyTable(kind))
		})
		if text == string(page) {
			continue
		}
		if !*update {
			t.Errorf("%s: a table is out of step with the loader: run go test ./spec -run Tables -update", name)
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range Kinds() {
		if !found[kind] {
			t.Errorf("no page has the keys of %s", kind)
		}
	}
}

// keyTable is the table of a kind's keys, those of spec without it.
func keyTable(kind string) string {
	var b strings.Builder
	b.WriteString("\n| key | value | default | what it says |\n|---|---|---|---|\n")
	rows(&b, "", shapes[kind].lookup("spec").shape)
	b.WriteString("\n")
	return b.String()
}

func rows(b *strings.Builder, path string, s *shape) {
	keys := s.keys
	for _, c := range s.cases {
		keys = append(keys[:len(keys):len(keys)], c.keys...)
	}
	for _, k := range keys {
		def := k.def
		switch {
		case slices.Contains(s.caseNames(), k.name):
			def = "one of these"
		case k.required:
			def = "required"
		}
		name := path + k.name
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, cell(valueOf(k.shape)), cell(def), cell(k.shape.doc))
		switch inner := k.shape; inner.form {
		case mapForm:
			rows(b, name+".", inner)
		case listForm:
			rows(b, name+"[].", inner.item)
		}
	}
	if s.open {
		fmt.Fprintf(b, "| `%s…` | plain data |  | %s |\n", path, cell(s.data))
	}
}

// valueOf says what a value is, with its words in code.
func valueOf(s *shape) string {
	if s.form == listForm && s.item.enum != nil {
		return "list of " + orList(codes(s.item.enum))
	}
	if s.enum != nil {
		return orList(codes(s.enum))
	}
	return strings.TrimPrefix(strings.TrimPrefix(s.wanted(), "a "), "an ")
}

func codes(words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, "`"+w+"`")
	}
	return out
}

func cell(s string) string { return strings.NewReplacer("|", "\\|", "\n", " ").Replace(s) }
