package builtins

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// plainJSON is JSON as the data that a program's call hands to a tool.
func plainJSON(t testing.TB, text string) any {
	t.Helper()
	v, err := value.FromJSON([]byte(text), label.Bottom())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v.Plain()
}

const ticketSchema = `{"type": "object", "properties": {
	"kind": {"enum": ["order", "complaint", "other"]}, "urgent": {"type": "boolean"}, "amount": {"type": ["integer", "null"], "minimum": 0, "maximum": 1000},
	"due": {"type": "string", "format": "date", "formatMinimum": "2026-01-01", "formatMaximum": "2026-12-31"}, "score": {"type": "number", "minimum": 0, "maximum": 1},
	"names": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2}}}`

func TestBoundedBits(t *testing.T) {
	for _, test := range []struct {
		schema string
		want   int
	}{
		{`{"type": "boolean"}`, 1},
		{`{"type": ["boolean", "null"]}`, 2},
		{`{"enum": ["only"]}`, 0},
		{`{"enum": ["a", "b", "a"]}`, 1},
		{`{"enum": ["a", "b", "c", null, true]}`, 3},
		{`{"type": "integer", "minimum": 0, "maximum": 255}`, 8},
		{`{"type": "integer", "minimum": -1, "maximum": 255}`, 9},
		{`{"type": "integer", "minimum": 7, "maximum": 7}`, 0},
		{`{"type": "integer", "minimum": -9007199254740992, "maximum": 9007199254740992}`, 55},
		{`{"type": "number", "minimum": 0, "maximum": 1}`, 64},
		{`{"type": "string", "maxLength": 0}`, 0},
		{`{"type": "string", "maxLength": 1}`, 22},
		{`{"type": "string", "format": "date", "formatMinimum": "2026-01-01", "formatMaximum": "2026-12-31"}`, 9},
		{`{"type": "string", "format": "date"}`, 22},
		{`{"type": "array", "items": {"type": "boolean"}, "maxItems": 3}`, 5},
		{`{"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3}`, 3},
		{`{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 2, 3]}}, "required": ["b", "a"], "additionalProperties": false}`, 3},
		{ticketSchema, 2 + 1 + 11 + 9 + 64 + 2*(5*21+3) + 2},
		{`{"type": "array", "maxItems": 1000, "items": {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 10000}}}`, label.Unbounded},
	} {
		b, err := ParseBounded(plainJSON(t, test.schema))
		if err != nil {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		if b.Bits() != test.want {
			t.Errorf("%s: got %d bits, want %d", test.schema, b.Bits(), test.want)
		}
	}
}

// Bits are never fewer than what values can say: each schema is counted out.
func TestBoundedBitsCounted(t *testing.T) {
	scalars := []string{`null`, `true`, `false`, `0`, `1`, `2`, `3`, `-1`, `""`, `"a"`, `"b"`, `"c"`, `"2026-01-01"`, `"2026-01-02"`, `"2026-01-03"`}
	answers := slices.Clone(scalars)
	for _, a := range scalars {
		answers = append(answers, "["+a+"]")
		for _, b := range scalars {
			answers = append(answers, "["+a+","+b+"]", `{"x":`+a+`,"y":`+b+`}`, `{"y":`+b+`,"x":`+a+`}`)
		}
	}
	parts := []string{
		`{"type":"boolean"}`, `{"type":["boolean","null"]}`, `{"enum":["a","b","c",1,null]}`, `{"type":"integer","minimum":-1,"maximum":3}`, `{"type":"string","maxLength":0}`,
		`{"type":"string","format":"date","formatMinimum":"2026-01-01","formatMaximum":"2026-01-03"}`,
	}
	var schemas []string
	for _, p := range parts {
		schemas = append(schemas, p, `{"type":"array","maxItems":2,"items":`+p+`}`, `{"type":"array","minItems":1,"maxItems":2,"items":`+p+`}`)
		for _, q := range parts {
			schemas = append(schemas, `{"type":"object","properties":{"x":`+p+`,"y":`+q+`}}`)
		}
	}
	for _, s := range schemas {
		b, err := ParseBounded(plainJSON(t, s))
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		different := map[string]bool{}
		for _, a := range answers {
			if v, problem := b.Read(a); problem == "" {
				different[string(v.AppendPlain(nil))] = true
			}
		}
		if n := math.Log2(float64(len(different))); len(different) == 0 || n > float64(b.Bits()) {
			t.Errorf("%s: %d answers fit, which is %.1f bits, and it says %d", s, len(different), n, b.Bits())
		}
	}
}

func TestBoundedRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","maxItems":1,"items":`, 12) + `{"type":"boolean"}` + strings.Repeat("}", 12)
	wide := `{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"%d":{"type":"boolean"},`, 300), ",") + `}}`
	numbers := make([]any, 300)
	for i := range numbers {
		numbers[i] = i
	}
	wide = fmt.Sprintf(wide, numbers...)
	for _, test := range []struct{ schema, want string }{
		{`"string"`, "schema: got string, want a JSON Schema as a dict; write one of"},
		{`{}`, "schema: got no type that it knows"},
		{`{"type": "text"}`, "schema: got no type that it knows"},
		{`{"type": ["string", "integer"], "maxLength": 3}`, "schema: got no type that it knows"},
		{`{"type": "string"}`, `schema.maxLength: missing: without it there is no bound; write "maxLength": …`},
		{`{"type": "string", "maxLength": "80"}`, "schema.maxLength: want a whole number from 0 to 10000"},
		{`{"type": "string", "maxLength": 1e9}`, "schema.maxLength: want a whole number from 0 to 10000"},
		{`{"type": "string", "maxLength": 5, "pattern": "a+"}`, "schema.pattern: not understood with string"},
		{`{"type": "string", "maxlength": 5}`, `schema.maxlength: not understood with string; did you mean "maxLength"`},
		{`{"type": "string", "format": "date-time"}`, `schema.format: want "date"`},
		{`{"type": "string", "format": "date", "formatMaximum": "2026-02-30"}`, "schema.formatMaximum: want a date such as 2026-12-31"},
		{`{"type": "string", "format": "date", "formatMinimum": "2026-02-02", "formatMaximum": "2026-02-01"}`, "schema.formatMaximum: want a date that is not before"},
		{`{"type": "integer", "minimum": 0}`, "schema.maximum: missing: without it there is no bound"},
		{`{"type": "integer", "minimum": 5, "maximum": 4}`, "schema.maximum: got 4, want at least minimum, 5"},
		{`{"type": "integer", "minimum": 0.5, "maximum": 4}`, "schema.minimum: want a whole number"},
		{`{"type": "number", "minimum": 0, "maximum": "1"}`, "schema.maximum: want a finite number"},
		{`{"enum": []}`, "schema.enum: want a list of 1 to 1000"},
		{`{"enum": [["a"]]}`, "schema.enum[0]: got list, want a text, a whole number, a bool or null"},
		{`{"enum": [1.5]}`, "schema.enum[0]: got float"},
		{`{"enum": ["a"], "maximum": 3}`, "schema.maximum: not understood with enum"},
		{`{"type": "array", "items": {"type": "boolean"}}`, "schema.maxItems: missing: without it there is no bound"},
		{`{"type": "array", "maxItems": 3}`, "schema.items: missing: say what is in the list"},
		{`{"type": "array", "maxItems": 3, "minItems": 4, "items": {"type": "boolean"}}`, "schema.maxItems: got 3, want at least minItems, 4"},
		{`{"type": "array", "maxItems": 3, "items": {"type": "string"}}`, "schema.items.maxLength: missing"},
		{`{"type": "object"}`, "schema.properties: missing: a record names all that is in it"},
		{`{"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": true}`, "schema.additionalProperties: a record has no others"},
		{`{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}, "required": ["a"]}`, "schema.required: want all of the properties"},
		{`{"type": "object", "properties": {"a b": {"type": "string"}}}`, `schema.properties["a b"].maxLength: missing`},
		{`{"anyOf": [{"type": "boolean"}]}`, "schema: got no type that it knows"},
		{`{"$ref": "#"}`, "schema: got no type that it knows"},
		{deep, "nested deeper than 8"},
		{wide, "schema: got 301 parts, want at most 256"},
	} {
		_, err := ParseBounded(plainJSON(t, test.schema))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.200s: got %v, want %q", test.schema, err, test.want)
		}
	}
	// All of them at once.
	_, err := ParseBounded(plainJSON(t, `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": 5}}`))
	if bad, ok := err.(*BoundError); !ok || len(bad.Problems) != 4 {
		t.Errorf("got %v, want four problems", err)
	}
}

// What models answer, and attackers through them.
func TestBoundedRead(t *testing.T) {
	const good = `{"kind": "order", "urgent": true, "amount": 12, "due": "2026-03-01", "score": 0.5, "names": ["ana"]}`
	with := func(key, v string) string {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(good), &m); err != nil {
			t.Fatal(err)
		}
		if m[key] = json.RawMessage(v); v == "" {
			delete(m, key)
		}
		parts := make([]string, 0, len(m))
		for k, v := range m {
			parts = append(parts, fmt.Sprintf("%q: %s", k, v))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b, err := ParseBounded(plainJSON(t, ticketSchema))
	if err != nil {
		t.Fatal(err)
	}
	const form = `{"amount":12,"due":"2026-03-01","kind":"order","names":["ana"],"score":0.5,"urgent":true}`
	for _, text := range []string{good, " \n" + good + "\t\n", with("kind", `"\u006frder"`), with("score", "5e-1")} {
		v, problem := b.Read(text)
		if got := string(v.AppendPlain(nil)); problem != "" || got != form {
			t.Errorf("%s: got %s, %q, want %s", text, got, problem, form)
		}
	}
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "not one JSON value"},
		{"words", "The answer is 5.", "not one JSON value"},
		{"text before", "Sure! " + good, "not one JSON value"},
		{"text after", good + " I hope this helps.", "not one JSON value"},
		{"two of them", good + good, "not one JSON value"},
		{"a list of them", "[" + good + "]", "answer: got list, want an object"},
		{"cut off", good[:len(good)-1], "not one JSON value"},
		{"a byte order mark", "\ufeff" + good, "not one JSON value"},
		{"bytes that are no UTF-8", with("kind", "\"or\xffder\""), ""},
		{"a key too many", with("bcc", `"mallory@evil.example"`), "answer: got 7 keys, want no other than"},
		{"a key missing", with("kind", ""), "answer.kind: missing"},
		{"a key twice", strings.Replace(good, `"urgent": true`, `"kind": "complaint", "urgent": true`, 1), "not one JSON value"},
		{"a key twice, once escaped", strings.Replace(good, `"urgent": true`, `"\u006bind": "complaint", "urgent": true`, 1), "not one JSON value"},
		{"an enum in another case", with("kind", `"Order"`), "answer.kind: got string that is none of the enum, want one of its 3 members, exactly"},
		{"an enum with a blank", with("kind", `"order "`), "answer.kind: got string that is none of the enum"},
		{"a letter that looks alike", with("kind", `"оrder"`), "answer.kind: got string that is none of the enum"},
		{"a character of no width", with("kind", `"or\u200bder"`), "answer.kind: got string that is none of the enum"},
		{"an enum with a NUL", with("kind", `"order\u0000"`), "answer.kind: got string that is none of the enum"},
		{"a list for an enum", with("kind", `["order"]`), "answer.kind: got list"},
		{"a text for a bool", with("urgent", `"true"`), "answer.urgent: got string, want true or false"},
		{"a number for a bool", with("urgent", `1`), "answer.urgent: got int, want true or false"},
		{"NaN", with("score", "NaN"), "not one JSON value"},
		{"infinity", with("score", "Infinity"), "not one JSON value"},
		{"a number past all floats", with("score", "1e999"), "not one JSON value"},
		{"a number out of range", with("score", "1.0000001"), "answer.score: out of range: want 0 to 1"},
		{"an int with a point", with("amount", "12.0"), "answer.amount: got float, want a whole number or null"},
		{"an int with an exponent", with("amount", "1e2"), "answer.amount: got float"},
		{"an int of many digits", with("amount", strings.Repeat("9", 5000)), "answer.amount: out of range: want 0 to 1000 or null"},
		{"an int of very many digits", with("amount", strings.Repeat("9", 500_000)), "not one JSON value"},
		{"a date that is none", with("due", `"2026-02-30"`), "answer.due: want a date"},
		{"a date with a time", with("due", `"2026-03-01T00:00:00Z"`), "answer.due: want a date"},
		{"a date of other digits", with("due", `"２０２６-03-01"`), "answer.due: want a date"},
		{"a date out of range", with("due", `"2027-01-01"`), "answer.due: out of range: want a date from 2026-01-01 to 2026-12-31"},
		{"a text too long", with("names", `["anabel"]`), "answer.names[0]: got 6 characters, want at most 5"},
		{"a list too long", with("names", `["a", "b", "c"]`), "answer.names: got 3 elements, want 0 to 2"},
		{"null where nothing may be missing", with("kind", "null"), "answer.kind: got None that is none of the enum"},
		{"an object for a text", with("names", `[{"$bytes": "YQ=="}]`), "answer.names[0]: got dict, want a text"},
		{"nested deep", strings.Repeat("[", 100_000), "not one JSON value"},
		{"nested deep and closed", strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000), ""},
	} {
		v, problem := b.Read(test.text)
		if problem == "" {
			t.Errorf("%s: read as %s", test.name, v.Text())
		} else if !strings.Contains(problem, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, problem, test.want)
		}
	}
	if v, problem := b.Read(with("amount", "null")); problem != "" || v.Items[0].Kind != value.None {
		t.Errorf("null for what may be missing: %q", problem)
	}
	if v, problem := b.Read(with("names", `["\ud83d"]`)); problem != "" || !strings.Contains(v.Text(), "\ufffd") {
		t.Errorf("half of a surrogate pair is a character like another: got %s, %q", v.Text(), problem)
	}
	zero, err := ParseBounded(plainJSON(t, `{"type": "number", "minimum": -1, "maximum": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"-0", "-0.0", "0", "0e5"} {
		if v, problem := zero.Read(text); problem != "" || v.Kind != value.Float || math.Signbit(v.Float) {
			t.Errorf("%s: got %v %s, want the one zero", text, v.Text(), problem)
		}
	}
}

func FuzzBounded(f *testing.F) {
	f.Add(ticketSchema, `{"kind": "order"}`)
	f.Add(`{"type": "array", "maxItems": 2, "items": {"enum": ["a", 1]}}`, `["a"]`)
	f.Fuzz(func(t *testing.T, schema, answer string) {
		v, err := value.FromJSON([]byte(schema), label.Bottom())
		if err != nil {
			return
		}
		b, err := ParseBounded(v.Plain())
		if err != nil {
			return
		}
		got, problem := b.Read(answer)
		if problem != "" {
			return
		}
		again, problem := b.Fit(got)
		if problem != "" || again.Digest() != got.Digest() {
			t.Errorf("%s: %s fits as %s, and that as %s (%s)", schema, answer, got.Text(), again.Text(), problem)
		}
	})
}
