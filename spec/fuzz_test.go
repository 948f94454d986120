package spec

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// loadText loads a file that is in no folder: what it names is missing.
func loadText(name string, text []byte) (*Documents, []Problem) {
	l := newLoader()
	src := newSource(name, text)
	l.documents(src, text, parse(src, l.report), "nowhere", nil)
	return l.result()
}

// FuzzLoad holds the loader against any text: it ends, every problem has its place in the
// file, and a document in which the loader finds nothing wrong is good to its schema as well.
func FuzzLoad(f *testing.F) {
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if filepath.Ext(file.Name) == ".yaml" {
				f.Add(file.Data)
			}
		}
	}
	doc, err := os.ReadFile("agent.md")
	if err == nil {
		for _, example := range examples(string(doc)) {
			f.Add([]byte(example.text))
		}
	}
	schemas := compileSchemas(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		lines := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) + 2
		_, ps := loadText("f.yaml", text)
		for _, p := range ps {
			if p.Pos.File == "" || p.Pos.Line > lines || p.Pos.Column > len(text)+2 || p.Pos.Line > 0 && p.Pos.Column < 1 {
				t.Errorf("%q has no such place: %v", text, p)
			}
			if strings.Contains(p.Text, "\n") {
				t.Errorf("a text of two lines: %v", p)
			}
		}
		docs := parse(newSource("f.yaml", text), func(Problem) {})
		for _, n := range docs {
			tracePlaces(t, n)
		}
		if len(ps) > 0 {
			return
		}
		for _, n := range docs {
			if err := validate(t, schemas[n.get("kind").str()], n.plain(nil)); err != nil {
				t.Errorf("%q: the loader finds nothing wrong, the schema says %v", text, err)
			}
		}
	})
}

// tracePlaces looks for every text of a document in the file: places only go forward.
func tracePlaces(t *testing.T, n *node) {
	if n.kind == textNode {
		e := n.expr("")
		last := e.Pos
		for i := 0; i <= len(e.Text); i++ {
			at := e.At(i)
			if e.written != nil && comparePositions(last, at) > 0 {
				t.Errorf("%q: byte %d is at %v, the one before at %v", e.Text, i, at, last)
			}
			last = at
		}
	}
	for _, k := range n.keys {
		tracePlaces(t, k)
	}
	for _, item := range n.items {
		tracePlaces(t, item)
	}
}

// compileSchemas compiles the schema of each kind, and of any.
func compileSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	out := map[string]*jsonschema.Schema{}
	for _, kind := range append(Kinds(), AnyKind) {
		text, err := Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(kind, doc); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if out[kind], err = c.Compile(kind); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	return out
}

// validate holds plain data against a schema.
func validate(t testing.TB, s *jsonschema.Schema, data any) error {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}
