package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// form is what a value is written as.
type form uint8

const (
	dataForm     form = iota // plain data of any kind
	textForm                 // a text, perhaps one of a few, or of a pattern
	boolForm                 // true or false
	quantityForm             // a number with a unit
	listForm                 // a list of one shape
	freeForm                 // a map from texts to one shape
	mapForm                  // a map of given keys
	caseForm                 // one of several maps, told apart by a key of each
)

// shape says what a value of a document may be. The loader and the JSON Schemas both
// follow it. Shapes are not changed once made.
type shape struct {
	form    form
	doc     string
	want    string         // completes "want …"; "" means what the form says
	enum    []string       // of a text: what it may be
	pattern *regexp.Regexp // of a text; a JSON Schema pattern as well
	secret  bool           // of a text or map: never shown in a message
	file    bool           // of a text: {file: PATH} stands for the file's text
	empty   bool           // of a text: may be empty
	unit    unit           // of a quantity
	item    *shape         // of a list, or of a free map's values
	names   *shape         // of a free map's keys; nil means any text
	some    bool           // of a list: at least one
	unique  bool           // of a list of texts: none twice
	keys    []key          // of a map
	open    bool           // of a map: other keys may hold plain data
	data    string         // of an open map: what the other keys are
	one     []string       // of a map: exactly one of these keys
	any     []string       // of a map: at least one of these keys
	when    []condition    // of a map
	cases   []*shape       // of a case: maps, each with its first key required
}

// key is one key of a map.
type key struct {
	name     string
	shape    *shape
	required bool
	def      string // what leaving it out means, for people
}

// condition says which keys go with a value of another.
type condition struct {
	key   string
	is    []string // values
	wants []string // required then
	any   []string // at least one is required then
	bans  []string // not allowed then
}

func (s *shape) lookup(name string) *key {
	for i := range s.keys {
		if s.keys[i].name == name {
			return &s.keys[i]
		}
	}
	return nil
}

func (s *shape) keyNames() []string {
	var out []string
	for _, k := range s.keys {
		out = append(out, k.name)
	}
	return out
}

// wanted completes "want …".
func (s *shape) wanted() string {
	switch {
	case s.want != "":
		return s.want
	case s.enum != nil:
		return orList(s.enum)
	}
	switch s.form {
	case textForm:
		return "a text"
	case boolForm:
		return "true or false"
	case quantityForm:
		return s.unit.want
	case listForm:
		if s.item.form == textForm && s.item.want == "" {
			return "a list of texts"
		}
		return "a list"
	case freeForm, mapForm:
		return "a map"
	case caseForm:
		return "a map with " + orList(s.caseNames())
	}
	return "plain data"
}

func (s *shape) caseNames() []string {
	var out []string
	for _, c := range s.cases {
		out = append(out, c.keys[0].name)
	}
	return out
}

// checker holds nodes against shapes.
type checker struct {
	report func(Problem)
}

func (c *checker) problem(pos Position, path, hint, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	c.report(Problem{Pos: pos, Text: text, Hint: hint})
}

func (c *checker) check(n *node, s *shape, path string) {
	if n.kind == badNode {
		return
	}
	if n.odd != "" && s.form != boolForm {
		if s.secret {
			c.mismatch(n, s, path)
			return
		}
		hint := ""
		switch {
		case s.form == textForm || s.form == dataForm:
			hint = fmt.Sprintf("quote it: %q", n.text)
		case s.form == quantityForm:
			hint = "write digits alone, with a unit"
		}
		c.problem(n.pos, path, hint, "%s: %s; want %s", n.text, n.odd, s.wanted())
		return
	}
	switch s.form {
	case dataForm:
		c.data(n, path)
	case textForm:
		c.text(n, s, path)
	case boolForm:
		if n.kind != boolNode {
			c.mismatch(n, s, path)
		}
	case quantityForm:
		c.quantity(n, s, path)
	case listForm:
		c.list(n, s, path)
	case freeForm:
		if n.kind != mapNode {
			c.mismatch(n, s, path)
			return
		}
		for i, k := range n.keys {
			if s.names != nil {
				c.check(k, s.names, path)
			}
			c.check(n.items[i], s.item, join(path, k.text))
		}
	case mapForm:
		c.mapping(n, s, path)
	case caseForm:
		c.cases(n, s, path)
	}
}

// mismatch reports a value of the wrong kind.
func (c *checker) mismatch(n *node, s *shape, path string) {
	got, hint := n.describe(), ""
	if s.secret && n.kind != nullNode {
		got = map[bool]string{true: n.describe(), false: "a text"}[n.kind == listNode || n.kind == mapNode]
	}
	switch {
	case s.secret && s.form == mapForm:
		hint = "a secret is never written into a file: say where it is, such as {env: OPENAI_API_KEY}"
	case s.form == textForm && !s.secret:
		hint = quoteHint(n)
	case s.form == listForm && n.kind == textNode && s.item.form == textForm:
		hint = fmt.Sprintf("write [%s]", quotedIfNeeded(n.text))
	case s.form == boolForm && oldBool.MatchString(n.text):
		hint = "write " + oldTruth(n.text)
	}
	c.problem(n.pos, path, hint, "got %s, want %s", got, s.wanted())
}

func quotedIfNeeded(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./") == "" && s != "" {
		return s
	}
	return fmt.Sprintf("%q", s)
}

func (c *checker) text(n *node, s *shape, path string) {
	if s.file && n.kind == mapNode {
		c.mapping(n, fileReference, path)
		return
	}
	switch {
	case n.kind != textNode:
		c.mismatch(n, s, path)
	case s.enum != nil && !slices.Contains(s.enum, n.text):
		c.problem(n.pos, path, didYouMean(n.text, s.enum), "got %s, want %s", quoted(n.text), s.wanted())
	case s.pattern != nil && !s.pattern.MatchString(n.text):
		if s.secret {
			c.problem(n.pos, path, "", "want %s", s.wanted())
			return
		}
		c.problem(n.pos, path, "", "got %s, want %s", quoted(n.text), s.wanted())
	case n.text == "" && !s.empty && s.enum == nil:
		c.problem(n.pos, path, "", "got an empty text, want %s", s.wanted())
	}
}

func (c *checker) quantity(n *node, s *shape, path string) {
	hint := ""
	switch {
	case n.kind == intNode && s.unit.number:
		if n.i < 1 {
			c.problem(n.pos, path, "leave it out for the default", "got %d, want at least 1", n.i)
		}
		return
	case (n.kind == intNode || n.kind == floatNode) && s.unit.decimal:
		if _, err := s.unit.parse(n.text); err == nil {
			return
		}
	case n.kind == textNode && !s.unit.decimal:
		if _, err := s.unit.parse(n.text); err == nil {
			return
		}
		m := quantity.FindStringSubmatch(n.text)
		switch {
		case m == nil:
		case s.unit.want == sizes.want && strings.Contains("kMG", m[2]) && len(m[2]) == 1:
			hint = fmt.Sprintf("did you mean %q (times 1024) or %q (times 1000)?", m[1]+strings.ToUpper(m[2])+"iB", m[1]+m[2]+"B")
		case s.unit.want == counts.want:
			hint = didYouMean(n.text, []string{m[1] + "k", m[1] + "M"})
		}
	case n.kind == intNode && n.i > 0 && !s.unit.decimal:
		hint = fmt.Sprintf("did you mean %q?", n.text+"s")
	}
	c.problem(n.pos, path, hint, "got %s, want %s", n.describe(), s.wanted())
}

func (c *checker) list(n *node, s *shape, path string) {
	if n.kind != listNode {
		c.mismatch(n, s, path)
		return
	}
	if s.some && len(n.items) == 0 {
		c.problem(n.pos, path, "", "got an empty list, want at least one")
	}
	first := map[string]int{}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		c.check(item, s.item, at)
		if s.unique && item.kind == textNode {
			if _, twice := first[item.text]; twice {
				c.problem(item.pos, at, "", "%s: written twice", quoted(item.text))
			}
			first[item.text] = i
		}
	}
}

func (c *checker) cases(n *node, s *shape, path string) {
	if n.kind != mapNode {
		hint := ""
		if n.kind == textNode && n.odd == "" && !strings.Contains(n.text, "\n") {
			hint = fmt.Sprintf("write {%s: %s}", s.cases[0].keys[0].name, quotedIfNeeded(n.text))
		}
		c.problem(n.pos, path, hint, "got %s, want %s", n.describe(), s.wanted())
		return
	}
	var found []*shape
	for _, cs := range s.cases {
		if n.get(cs.keys[0].name) != nil {
			found = append(found, cs)
		}
	}
	switch len(found) {
	case 1:
		c.mapping(n, found[0], path)
	case 0:
		hint := ""
		for _, k := range n.keys {
			if hint == "" {
				hint = didYouMean(k.text, s.caseNames())
			}
		}
		c.problem(n.pos, path, hint, "want one of the keys %s", orList(s.caseNames()))
	default:
		first, second := found[0].keys[0].name, found[1].keys[0].name
		c.problem(n.keyPos(second), path, "write two items", "got both %s and %s, want one of them", first, second)
	}
}

func (c *checker) mapping(n *node, s *shape, path string) {
	if n.kind != mapNode {
		c.mismatch(n, s, path)
		return
	}
	names := s.keyNames()
	for i, k := range n.keys {
		known := s.lookup(k.text)
		switch {
		case known != nil:
			c.check(n.items[i], known.shape, join(path, k.text))
		case s.open:
			c.data(n.items[i], join(path, k.text))
		case s.secret:
			c.problem(k.pos, path, "", "unknown key, want %s", orList(names))
		default:
			hint := didYouMean(k.text, names)
			if hint == "" {
				hint = "the keys here are " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
			}
			c.problem(k.pos, path, hint, "unknown key %s", quoted(k.text))
		}
	}
	for _, k := range s.keys {
		if k.required && n.get(k.name) == nil {
			c.problem(n.pos, path, "", "missing %s: want %s", k.name, k.shape.wanted())
		}
	}
	c.combinations(n, s, path)
}

// combinations checks which keys stand together.
func (c *checker) combinations(n *node, s *shape, path string) {
	var there []string
	for _, name := range s.one {
		if n.get(name) != nil {
			there = append(there, name)
		}
	}
	switch {
	case s.one != nil && len(there) == 0:
		c.problem(n.pos, path, "", "missing %s: want exactly one of them", orList(s.one))
	case len(there) > 1:
		c.problem(n.keyPos(there[1]), path, "", "got %s, want exactly one of them", strings.Join(there, " and "))
	}
	has := func(name string) bool { return n.get(name) != nil }
	if s.any != nil && !slices.ContainsFunc(s.any, has) {
		c.problem(n.pos, path, "", "missing %s: want at least one of them", orList(s.any))
	}
	for _, cond := range s.when {
		v := n.get(cond.key).str()
		if !slices.Contains(cond.is, v) {
			continue
		}
		with := "with " + cond.key + " " + v
		for _, name := range cond.wants {
			if !has(name) && !slices.Contains(s.one, name) {
				c.problem(n.pos, path, "", "missing %s, which goes %s", name, with)
			}
		}
		if cond.any != nil && !slices.ContainsFunc(cond.any, has) {
			c.problem(n.pos, path, "", "missing %s: want at least one of them %s", orList(cond.any), with)
		}
		for _, name := range cond.bans {
			if has(name) {
				c.problem(n.keyPos(name), join(path, name), "", "cannot stand %s", with)
			}
		}
	}
}

// data checks plain data: nothing that JSON could not say.
func (c *checker) data(n *node, path string) {
	switch {
	case n.odd != "":
		hint := fmt.Sprintf("quote it: %q", n.text)
		if oldBool.MatchString(n.text) {
			hint = fmt.Sprintf("write %s, or quote it: %q", oldTruth(n.text), n.text)
		}
		c.problem(n.pos, path, hint, "%s: %s", n.text, n.odd)
	case n.kind == listNode:
		for i, item := range n.items {
			c.data(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case n.kind == mapNode:
		for i, item := range n.items {
			c.data(item, join(path, n.keys[i].text))
		}
	}
}

// join appends a key to a path.
func join(path, key string) string {
	if key == "" || strings.ContainsAny(key, ". \t\n[]") || len(key) > 64 {
		key = quoted(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Kinds returns the kinds of document, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(shapes)) }
