package builtins

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Bounded is a schema all of whose values are known beforehand but for so many bits: what a model without tools may answer. It is
// read with [ParseBounded].
//
// It is a JSON Schema of which each part is one of
//
//	{"type": "boolean"}
//	{"enum": ["order", "complaint", 3, true, null]}
//	{"type": "integer", "minimum": 0, "maximum": 100}
//	{"type": "number", "minimum": 0, "maximum": 1}
//	{"type": "string", "maxLength": 80}
//	{"type": "string", "format": "date", "formatMinimum": "2026-01-01", "formatMaximum": "2026-12-31"}
//	{"type": "object", "properties": {…}}           every property is there, and no other
//	{"type": "array", "items": …, "maxItems": 20}
//
// A type may be a list with "null", for what may be missing. A title or a description may stand with each.
type Bounded struct {
	root *bound
	bits int
}

// The limits of a bounded schema. They are wide: what is let through is for [Bounded.Bits] to say.
const (
	maxBoundDepth = 8
	maxBoundParts = 256
	maxBoundText  = 10_000
	maxBoundItems = 1_000
	maxBoundInt   = 1 << 53
)

// bound is one part of a bounded schema.
type bound struct {
	kind       string // bool, enum, int, number, text, date, record, list
	null       bool   // None fits too
	members    []value.Value
	low, high  int64 // of an int; of a text or list its length; of a date days since the epoch
	min, max   float64
	properties []string // sorted
	parts      []*bound // of the properties; of a list the one of its items
}

// BoundError says what of a schema is not bounded: every problem, in order.
type BoundError struct{ Problems []Problem }

func (e *BoundError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// ParseBounded reads a schema, plain data. The error is a [*BoundError].
func ParseBounded(schema any) (*Bounded, error) {
	p := boundParser{}
	root := p.part("schema", schema, 0)
	if p.parts > maxBoundParts {
		p.bad("schema", "", "got %d parts, want at most %d", p.parts, maxBoundParts)
	}
	if len(p.problems) > 0 {
		return nil, &BoundError{p.problems}
	}
	return &Bounded{root, root.bits()}, nil
}

// Bits is how much a value that fits can say, in bits, rounded up: at most [label.Unbounded].
func (b *Bounded) Bits() int { return b.bits }

type boundParser struct {
	problems []Problem
	parts    int
}

func (p *boundParser) bad(path, hint, format string, args ...any) *bound {
	p.problems = append(p.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...), Hint: hint})
	return &bound{}
}

// The keywords that go with each type.
var boundWords = map[string][]string{
	"boolean": nil,
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"string":  {"maxLength", "format", "formatMinimum", "formatMaximum"},
	"object":  {"properties", "required", "additionalProperties"},
	"array":   {"items", "minItems", "maxItems"},
}

const boundHint = `write one of {"type": "boolean"}, {"enum": […]}, {"type": "integer", "minimum": 0, "maximum": 100}, {"type": "string", "maxLength": 80}, {"type": "object", "properties": {…}}, {"type": "array", "items": …, "maxItems": 20}`

func (p *boundParser) part(path string, schema any, depth int) *bound {
	p.parts++
	switch {
	case depth > maxBoundDepth:
		return p.bad(path, "", "nested deeper than %d", maxBoundDepth)
	case p.parts > maxBoundParts:
		return &bound{}
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return p.bad(path, boundHint, "got %s, want a JSON Schema as a dict", kindOf(schema))
	}
	if members, ok := m["enum"]; ok {
		p.words(path, "enum", m, []string{"enum", "type"})
		return p.enum(path+".enum", members)
	}
	kind, null, ok := typeOf(m["type"])
	if !ok {
		return p.bad(path, boundHint, "got no type that it knows, want boolean, integer, number, string, object, array or an enum, with or without null")
	}
	p.words(path, kind, m, append([]string{"type"}, boundWords[kind]...))
	b := p.typed(path, kind, m, depth)
	b.null = b.null || null
	return b
}

// typeOf reads the keyword type.
func typeOf(x any) (kind string, null, ok bool) {
	list, isList := x.([]any)
	if !isList {
		list = []any{x}
	}
	for _, t := range list {
		name, _ := t.(string)
		_, known := boundWords[name]
		switch {
		case name == "null" && isList && !null:
			null = true
		case known && kind == "":
			kind = name
		default:
			return "", false, false
		}
	}
	return kind, null, kind != ""
}

// words reports keywords that do not belong: what is not understood might bound nothing.
func (p *boundParser) words(path, kind string, m map[string]any, known []string) {
	known = append(known, "title", "description")
	for _, k := range sortedKeys(m) {
		if !slices.Contains(known, k) {
			p.bad(keyPath(path, k), unknownHint(k, known), "not understood with %s", kind)
		}
	}
}

func (p *boundParser) enum(path string, x any) *bound {
	list, ok := x.([]any)
	if !ok || len(list) == 0 || len(list) > maxBoundItems {
		return p.bad(path, "", "want a list of 1 to %d texts, whole numbers, bools or nulls", maxBoundItems)
	}
	b := &bound{kind: "enum"}
	for i, member := range list {
		switch member.(type) {
		case nil, bool, string, int64:
		default:
			p.bad(indexPath(path, i), "", "got %s, want a text, a whole number, a bool or null", kindOf(member))
			continue
		}
		v, err := value.Of(member, label.Bottom())
		if err != nil || !utf8.ValidString(v.Str) || len(v.Str) > maxBoundText {
			p.bad(indexPath(path, i), "", "want a text of UTF-8, of at most %d bytes", maxBoundText)
			continue
		}
		if !slices.ContainsFunc(b.members, func(w value.Value) bool { return sameScalar(v, w) }) {
			b.members = append(b.members, v)
		}
	}
	return b
}

func (p *boundParser) typed(path, kind string, m map[string]any, depth int) *bound {
	switch kind {
	case "boolean":
		return &bound{kind: "bool"}
	case "integer":
		b := &bound{kind: "int", low: p.whole(path, m, "minimum", -maxBoundInt, maxBoundInt), high: p.whole(path, m, "maximum", -maxBoundInt, maxBoundInt)}
		if b.high < b.low {
			p.bad(path+".maximum", "", "got %d, want at least minimum, %d", b.high, b.low)
		}
		return b
	case "number":
		b := &bound{kind: "number", min: p.float(path, m, "minimum"), max: p.float(path, m, "maximum")}
		if b.max < b.min {
			p.bad(path+".maximum", "", "got %v, want at least minimum, %v", b.max, b.min)
		}
		return b
	case "string":
		return p.text(path, m)
	case "object":
		return p.record(path, m, depth)
	}
	b := &bound{kind: "list", high: p.whole(path, m, "maxItems", 0, maxBoundItems)}
	if _, ok := m["minItems"]; ok {
		if b.low = p.whole(path, m, "minItems", 0, maxBoundItems); b.high < b.low {
			p.bad(path+".maxItems", "", "got %d, want at least minItems, %d", b.high, b.low)
		}
	}
	items, ok := m["items"]
	if !ok {
		return p.bad(path+".items", boundHint, "missing: say what is in the list")
	}
	b.parts = []*bound{p.part(path+".items", items, depth+1)}
	return b
}

// whole reads a bound that must be there.
func (p *boundParser) whole(path string, m map[string]any, key string, low, high int64) int64 {
	x, ok := m[key]
	n, whole := x.(int64)
	switch {
	case !ok:
		p.bad(path+"."+key, fmt.Sprintf("write %q: …", key), "missing: without it there is no bound")
	case !whole || n < low || n > high:
		p.bad(path+"."+key, "", "want a whole number from %d to %d", low, high)
	}
	return n
}

func (p *boundParser) float(path string, m map[string]any, key string) float64 {
	switch x := m[key].(type) {
	case int64:
		return float64(x)
	case float64:
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	case nil:
		p.bad(path+"."+key, fmt.Sprintf("write %q: …", key), "missing: without it there is no bound")
		return 0
	}
	p.bad(path+"."+key, "", "want a finite number")
	return 0
}

func (p *boundParser) text(path string, m map[string]any) *bound {
	format, dated := m["format"]
	if !dated {
		for _, k := range []string{"formatMinimum", "formatMaximum"} {
			if _, ok := m[k]; ok {
				p.bad(path+"."+k, "", "goes with a format")
			}
		}
		return &bound{kind: "text", high: p.whole(path, m, "maxLength", 0, maxBoundText)}
	}
	if format != "date" {
		return p.bad(path+".format", "", `want "date", or no format and a maxLength`)
	}
	if _, ok := m["maxLength"]; ok {
		p.bad(path+".maxLength", "", "a date has a length of its own")
	}
	b := &bound{kind: "date"}
	for _, end := range []struct {
		key  string
		to   *int64
		last string
	}{{"formatMinimum", &b.low, "0001-01-01"}, {"formatMaximum", &b.high, "9999-12-31"}} {
		text := end.last
		if x, ok := m[end.key]; ok {
			text, _ = x.(string)
		}
		day, ok := dayOf(text)
		if !ok {
			p.bad(path+"."+end.key, "", "want a date such as 2026-12-31")
		}
		*end.to = day
	}
	if b.high < b.low {
		p.bad(path+".formatMaximum", "", "want a date that is not before formatMinimum")
	}
	return b
}

// dayOf counts the days from the epoch to a date.
func dayOf(text string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t.Unix() / 86400, err == nil && t.Format(time.DateOnly) == text && t.Year() > 0
}

func (p *boundParser) record(path string, m map[string]any, depth int) *bound {
	properties, ok := m["properties"].(map[string]any)
	if !ok || len(properties) == 0 {
		return p.bad(path+".properties", "", "missing: a record names all that is in it")
	}
	if x, ok := m["additionalProperties"]; ok && x != false {
		p.bad(path+".additionalProperties", "leave it out, or say false", "a record has no others")
	}
	b := &bound{kind: "record", properties: slices.Sorted(maps.Keys(properties))}
	if required, ok := m["required"]; ok {
		var names []string
		list, _ := required.([]any)
		for _, x := range list {
			name, _ := x.(string)
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(slices.Compact(names), b.properties) {
			p.bad(path+".required", `leave it out; what may be missing has a type such as ["string", "null"]`, "want all of the properties")
		}
	}
	for _, name := range b.properties {
		if name == "" || len(name) > 200 || !utf8.ValidString(name) {
			p.bad(keyPath(path+".properties", name), "", "want a name of 1 to 200 bytes of UTF-8")
		}
		b.parts = append(b.parts, p.part(keyPath(path+".properties", name), properties[name], depth+1))
	}
	return b
}

// bits is the capacity of a part.
func (b *bound) bits() int {
	n := 0
	switch b.kind {
	case "bool":
		n = 1
	case "enum":
		n = bits.Len(uint(len(b.members) - 1))
	case "int", "date":
		n = bits.Len64(uint64(b.high - b.low))
	case "number":
		n = 64
	case "text":
		n = int(b.high)*21 + bits.Len64(uint64(b.high)) // a character is one of less than 2²¹
	case "record":
		for _, p := range b.parts {
			n = min(n+p.bits(), label.Unbounded)
		}
	case "list":
		n = min(int(b.high)*b.parts[0].bits()+bits.Len64(uint64(b.high-b.low)), label.Unbounded)
	}
	if b.null {
		n++
	}
	return min(n, label.Unbounded)
}

// Read reads a text that must be one value as JSON, which fits, and nothing else but blanks around it. The value is in its one form: the
// entries of a record are in the order of their names, numbers are floats. problem says what does not
// fit, for whoever wrote the text; "" if nothing.
func (b *Bounded) Read(text string) (v value.Value, problem string) {
	v, err := value.FromJSON([]byte(text), label.Bottom())
	if err != nil {
		return value.Value{}, "not one JSON value: " + strings.ToValidUTF8(err.Error(), "")
	}
	return b.Fit(v)
}

// Fit returns a value in the one form that values of the schema have, with the labels of its own, or says why it does not fit.
func (b *Bounded) Fit(v value.Value) (out value.Value, problem string) {
	return b.root.fit("answer", v)
}

func (b *bound) fit(path string, v value.Value) (value.Value, string) {
	if b.null && v.Kind == value.None {
		return v, ""
	}
	wrong := func(format string, args ...any) (value.Value, string) {
		return value.Value{}, path + ": " + fmt.Sprintf(format, args...)
	}
	null := ""
	if b.null {
		null = " or null"
	}
	switch b.kind {
	case "bool":
		if v.Kind != value.Bool {
			return wrong("got %s, want true or false%s", v.Kind, null)
		}
	case "enum":
		if !slices.ContainsFunc(b.members, func(m value.Value) bool { return sameScalar(v, m) }) {
			return wrong("got %s that is none of the enum, want one of its %d members%s, exactly", v.Kind, len(b.members), null)
		}
	case "int":
		if v.Kind != value.Int {
			return wrong("got %s, want a whole number%s, written without a point", v.Kind, null)
		}
		if !v.Int.IsInt64() || v.Int.Int64() < b.low || v.Int.Int64() > b.high {
			return wrong("out of range: want %d to %d%s", b.low, b.high, null)
		}
	case "number":
		return b.fitNumber(path, v)
	case "text":
		if v.Kind != value.String || !utf8.ValidString(v.Str) {
			return wrong("got %s, want a text%s", v.Kind, null)
		}
		if n := utf8.RuneCountInString(v.Str); int64(n) > b.high {
			return wrong("got %d characters, want at most %d", n, b.high)
		}
	case "date":
		day, ok := dayOf(v.Str)
		if v.Kind != value.String || !ok {
			return wrong("want a date such as 2026-12-31%s", null)
		}
		if day < b.low || day > b.high {
			return wrong("out of range: want a date from %s to %s", date(b.low), date(b.high))
		}
	case "record":
		return b.fitRecord(path, v)
	case "list":
		if v.Kind != value.List {
			return wrong("got %s, want a list%s", v.Kind, null)
		}
		if n := int64(len(v.Items)); n < b.low || n > b.high {
			return wrong("got %d elements, want %d to %d", n, b.low, b.high)
		}
		items := make([]value.Value, len(v.Items))
		for i, e := range v.Items {
			fit, problem := b.parts[0].fit(indexPath(path, i), e)
			if problem != "" {
				return value.Value{}, problem
			}
			items[i] = fit
		}
		v.Items = items
	}
	return v, ""
}

func date(day int64) string { return time.Unix(day*86400, 0).UTC().Format(time.DateOnly) }

func (b *bound) fitNumber(path string, v value.Value) (value.Value, string) {
	f := v.Float
	switch v.Kind {
	case value.Int:
		f, _ = v.Int.Float64()
	case value.Float:
	default:
		return value.Value{}, fmt.Sprintf("%s: got %s, want a number", path, v.Kind)
	}
	if !(f >= b.min && f <= b.max) {
		return value.Value{}, fmt.Sprintf("%s: out of range: want %v to %v", path, b.min, b.max)
	}
	return value.FloatOf(f+0, v.Label), "" // there is one zero
}

// fitRecord puts the entries of a record in order: which order they came in says nothing.
func (b *bound) fitRecord(path string, v value.Value) (value.Value, string) {
	if v.Kind != value.Dict {
		return value.Value{}, fmt.Sprintf("%s: got %s, want an object", path, v.Kind)
	}
	keys, items := make([]value.Value, len(b.properties)), make([]value.Value, len(b.properties))
	for i, name := range b.properties {
		at := slices.IndexFunc(v.Keys, func(k value.Value) bool { return k.Kind == value.String && k.Str == name })
		if at < 0 {
			return value.Value{}, keyPath(path, name) + ": missing"
		}
		fit, problem := b.parts[i].fit(keyPath(path, name), v.Items[at])
		if problem != "" {
			return value.Value{}, problem
		}
		keys[i], items[i] = v.Keys[at], fit
	}
	if len(v.Keys) > len(keys) {
		return value.Value{}, fmt.Sprintf("%s: got %d keys, want no other than %s", path, len(v.Keys), strings.Join(b.properties, ", "))
	}
	v.Keys, v.Items = keys, items
	return v, ""
}

// sameScalar reports whether two scalars are the same data of the same kind: a text is no other that looks like it, 1 is not true.
func sameScalar(v, w value.Value) bool {
	if v.Kind != w.Kind {
		return false
	}
	switch v.Kind {
	case value.None:
		return true
	case value.Bool:
		return v.Bool == w.Bool
	case value.Int:
		return v.Int.Cmp(w.Int) == 0
	case value.String:
		return v.Str == w.Str
	}
	return false
}

// kindOf names the kind of plain data.
func kindOf(x any) string {
	v, err := value.Of(x, label.Bottom())
	if err != nil {
		return "something else"
	}
	return v.Kind.String()
}
