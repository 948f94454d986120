package spec

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSchemaFiles holds the files that editors read in step with the code. Run it with -update to write them.
func TestSchemaFiles(t *testing.T) {
	for _, kind := range append(Kinds(), AnyKind) {
		want, err := Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("schemas", strings.ToLower(kind)+".json")
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of step with the loader: run go test ./spec -run SchemaFiles -update", name)
		}
	}
}

func TestSchemaOfNoKind(t *testing.T) {
	_, err := Schema("Agnet")
	if want := `kind: got "Agnet", want Agent, Host, Policy, Scenario, Toolset or Document; did you mean "Agent"?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	lower, err := Schema("agent")
	upper, _ := Schema("Agent")
	if err != nil || !bytes.Equal(lower, upper) {
		t.Errorf("agent is not Agent: %v", err)
	}
}

// A sample is a document that is as large as its shape allows, as plain data.
type sampler struct {
	not map[*shape]int // which of the exclusive keys to take
}

// texts that fit the patterns, two of each.
var fitting = map[string][2]string{
	patternName.String():  {"a-name", "b-name"},
	patternIdent.String(): {"NAME_A", "NAME_B"},
	patternInput.String(): {"input_a", "input_b"},
	patternID.String():    {"rule.a", "rule.b"},
	patternTool.String():  {"mail.a", "mail.b"},
	patternGlob.String():  {"mail.*", "**.b"},
	patternWho.String():   {"ana@corp.example", "*"},
	patternTag.String():   {"pii", "secret"},
	patternAge.String():   {"age1" + strings.Repeat("q", 58), "age1" + strings.Repeat("z", 58)},
	patternURL.String():   {"https://a.example/x", "http://localhost:80"},
	patternLabel.String(): {"user/{ana}#pii", "internal/public"},
	patternMail.String():  {"group:x", "requester"},
	patternCall.String():  {"2.4", "3.o1"},
	patternRing.String():  {"callgate/openai", "a b/c/d"},
	patternTime.String():  {"2026-12-01T10:00:00Z", "2026-12-01T10:00:00.5+01:00"},
}

// sample returns data that fits a shape; which of two when there is a choice.
func (sm sampler) sample(t *testing.T, s *shape, which int) any {
	t.Helper()
	switch s.form {
	case textForm:
		switch {
		case s.enum != nil:
			return s.enum[min(which, len(s.enum)-1)]
		case s.pattern != nil:
			pair, ok := fitting[s.pattern.String()]
			if !ok {
				t.Fatalf("no sample of %s", s.pattern)
			}
			return pair[which]
		case strings.Contains(s.want, "path"):
			return [2]string{"a.star", "b.star"}[which]
		}
		return [2]string{"text a", "text b"}[which]
	case boolForm:
		return which == 0
	case quantityForm:
		return map[string][2]any{counts.want: {"5k", 7}, sizes.want: {"64KiB", 4096}, durations.want: {"30s", "1h30m"}, amounts.want: {0.25, 3}}[s.unit.want][which]
	case listForm:
		return []any{sm.sample(t, s.item, which)}
	case freeForm:
		name := any("name")
		if s.names != nil {
			name = sm.sample(t, s.names, 0)
		}
		return map[string]any{name.(string): sm.sample(t, s.item, which)}
	case caseForm:
		return sm.sample(t, s.cases[sm.not[s]], which)
	case mapForm:
		return sm.mapping(t, s, which)
	}
	return [2]any{map[string]any{"n": 1}, []any{"x", nil}}[which]
}

func (sm sampler) mapping(t *testing.T, s *shape, which int) any {
	out := map[string]any{}
	for _, k := range s.keys {
		out[k.name] = sm.sample(t, k.shape, which)
	}
	for i, name := range s.one {
		if i != sm.not[s] {
			delete(out, name)
		}
	}
	for _, c := range s.when {
		v, _ := out[c.key].(string)
		for _, is := range c.is {
			if v == is {
				for _, name := range c.bans {
					delete(out, name)
				}
			}
		}
	}
	if s.open {
		out["other"] = sm.sample(t, &shape{form: dataForm}, which)
	}
	return out
}

// judge says what the loader and the schema each think of a document: whether it has the right shape.
func judge(t *testing.T, schemas map[string]interface{ Validate(any) error }, kind string, doc any) (loader []Problem, schema error) {
	t.Helper()
	(&checker{func(p Problem) { loader = append(loader, p) }}).check(nodeOf(doc), shapes[kind], "")
	return loader, schemas[kind].Validate(doc)
}

// nodeOf is the inverse of plain.
func nodeOf(v any) *node {
	n := &node{pos: Position{"f.yaml", 1, 1}, text: fmt.Sprint(v)}
	switch v := v.(type) {
	case nil:
		n.kind = nullNode
	case bool:
		n.kind, n.b = boolNode, v
	case int:
		n.kind, n.i = intNode, int64(v)
	case float64:
		n.kind, n.f = floatNode, v
	case string:
		n.kind = textNode
	case []any:
		n.kind = listNode
		for _, item := range v {
			n.items = append(n.items, nodeOf(item))
		}
	case map[string]any:
		n.kind = mapNode
		for k, item := range v {
			n.keys, n.items = append(n.keys, nodeOf(k)), append(n.items, nodeOf(item))
		}
	}
	return n
}

// TestSchemaAndLoaderAgree makes a document of each kind as large as can be, and from it every
// document that differs in one place: without a key, with a key more, with every other word, with a value of each
// other type. The loader and the schema must judge each alike.
func TestSchemaAndLoaderAgree(t *testing.T) {
	schemas := map[string]interface{ Validate(any) error }{}
	for kind, s := range compileSchemas(t) {
		schemas[kind] = s
	}
	counts := map[bool]int{}
	for _, kind := range Kinds() {
		for _, choice := range []int{0, 1, 2} {
			sm := sampler{map[*shape]int{}}
			sm.choose(shapes[kind], choice)
			doc := sm.sample(t, shapes[kind], 0)
			compare := func(what string, doc any) {
				t.Helper()
				problems, err := judge(t, schemas, kind, doc)
				if (len(problems) == 0) != (err == nil) {
					t.Errorf("%s: the loader says %v, the schema %v", what, problems, err)
				}
				counts[err == nil]++
			}
			if problems, err := judge(t, schemas, kind, doc); choice < 2 && kind != "Agent" && (len(problems) > 0 || err != nil) {
				t.Errorf("%s: the largest document is not good: %v, %v", kind, problems, err)
			}
			compare(kind, doc)
			vary(doc, func(what string) { compare(kind+": "+what, doc) })
		}
	}
	t.Logf("%d good and %d bad documents", counts[true], counts[false])
	if counts[true] < 200 || counts[false] < 2000 {
		t.Errorf("got %v documents, want many of both sorts", counts)
	}
}

// choose takes the same one of exclusive keys everywhere.
func (sm sampler) choose(s *shape, choice int) {
	if s.form == caseForm {
		sm.not[s] = min(choice, len(s.cases)-1)
	}
	if s.one != nil {
		sm.not[s] = min(choice, len(s.one)-1)
	}
	for _, k := range s.keys {
		sm.choose(k.shape, choice)
	}
	for _, c := range s.cases {
		sm.choose(c, choice)
	}
	if s.item != nil {
		sm.choose(s.item, choice)
	}
}

// words are what a text is changed to: every word that documents know, by the lists in which they stand, and
// some that none knows.
func words() (lists [][]string, others []string) {
	set := map[string]bool{"": true, "nonsense": true, "UPPER": true, "with space": true, "5k": true, "30s": true, "1.5h": true, "64MiB": true, "64M": true, "-1": true, "0": true,
		"007": true, "a.b": true, "a:b@c": true, "*": true, "a*": true, "https://u@h": true, "ftp://x": true, "user": true, "user/{}": true, "user/{a,}": true, "system#": true, "internal/public#Pii": true, "é": true, "x\ny": true}
	var add func(s *shape)
	add = func(s *shape) {
		if s.enum != nil {
			lists = append(lists, s.enum)
		}
		for _, k := range s.keys {
			add(k.shape)
		}
		for _, c := range s.cases {
			add(c)
		}
		if s.item != nil {
			add(s.item)
		}
	}
	for _, s := range shapes {
		add(s)
	}
	for _, pair := range fitting {
		set[pair[0]], set[pair[1]] = true, true
	}
	return lists, slices.Sorted(maps.Keys(set))
}

// vary changes a document in one place after the other, calls f, and changes it back.
func vary(doc any, f func(what string)) {
	lists, strange := words()
	texts := 0
	var at func(path string, v any, set func(any))
	at = func(path string, v any, set func(any)) {
		others := []any{nil, true, 5, -3, 1.5, "text", []any{}, []any{1}, []any{"x", "x"}, map[string]any{}, map[string]any{"file": "a.star"}, map[string]any{"file": 1}}
		if text, ok := v.(string); ok {
			tried := map[string]bool{}
			for _, list := range lists {
				for _, w := range list {
					if slices.Contains(list, text) && !tried[w] {
						tried[w] = true
						others = append(others, w)
					}
				}
			}
			for i := texts % 3; i < len(strange); i += 3 { // a third of them for each
				others = append(others, strange[i])
			}
			texts++
		}
		for _, o := range others {
			set(o)
			f(fmt.Sprintf("%s = %#v", path, o))
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				item := v[k]
				delete(v, k)
				f(path + " without " + k)
				v[k+"x"] = item
				f(path + " with " + k + "x instead")
				delete(v, k+"x")
				v[k] = item
			}
			for _, k := range []string{"extra", "use", "mcp", "script", "env", "program", "model", "error", "result"} {
				if _, there := v[k]; !there {
					v[k] = "a.star"
					f(path + " with " + k)
					delete(v, k)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				item := v[k]
				at(path+"."+k, item, func(o any) { v[k] = o })
			}
		case []any:
			at(path+"[0]", v[0], func(o any) { v[0] = o })
		}
	}
	m := doc.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at(k, m[k], func(o any) { m[k] = o })
	}
}
