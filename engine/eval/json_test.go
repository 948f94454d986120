package eval

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"callgate/engine/label"
)

// corpus reads what hours of a fuzz test have found to be worth a look: a quoted text on each line.
func corpus(f *testing.F, name string) []string {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		s, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			f.Fatalf("testdata/%s: %q: %v", name, line, err)
		}
		out = append(out, s)
	}
	return out
}

// FuzzJSON reads texts as encoding/json does: what that accepts is accepted, with the
// same meaning; what is written reads back as the same; and laying a text out changes nothing in it.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, -2.5e3, "x\n\u00e9\ud83d\ude3f", null, true, {}], "a": 2, "": [[]]}`, `[1,2`, `"\ud83d"`, `"\x"`, ` 12345678901234567890 `, `-0`, `01`, `[1.]`,
		`{"a" 1}`, `{1: 2}`, `"é<>&\u2028"`, "\"\x01\xff\"", `[[[[]]]]`, `nul`, `1e400`, `{"k":"v",}`, "\ufeff[]", "[]x", "\"\x7f\"", `{"a":{"b":{"c":[{"d":0.1}]}}}`,
	} {
		f.Add(s)
	}
	for _, s := range corpus(f, "corpus-json.txt") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		th := newChecker(t, Limits{Steps: 1e8}).s.thread(t.Context(), label.BottomID)
		call1 := func(fn native, s string) (v val, err *Error) {
			c := &call{def: &builtinDef{name: "json"}, recv: unboundVal, args: []val{stringVal(s, label.BottomID), unboundVal, unboundVal}[:1]}
			err = catch(th, func() { v = fn(th, c) })
			return v, err
		}
		v, err := call1(jsonDecode, text)
		if err != nil {
			var want any
			dec := stdjson.NewDecoder(bytes.NewReader([]byte(text)))
			dec.UseNumber()
			if dec.Decode(&want) == nil && !dec.More() && stdjson.Valid([]byte(text)) && err.Code == "json" && !bytes.Contains([]byte(err.Text), []byte("nested")) && !outOfRange(text) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		c := &call{def: &builtinDef{name: "json"}, recv: unboundVal, args: []val{v}}
		written := jsonEncode(th, c).str()
		again, err := call1(jsonDecode, written)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", text, written, err)
		}
		if l := label.BottomID; !th.equal(again, v, &l, 0) {
			t.Errorf("%q was written as %q and read as %s, want %s", text, written, th.repr(again), th.repr(v))
		}
		if !stdjson.Valid([]byte(written)) {
			t.Fatalf("%q was written as %q, which is no JSON", text, written)
		}
		var got, want any
		if stdjson.Unmarshal([]byte(text), &want) == nil && (stdjson.Unmarshal([]byte(written), &got) != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%q was written as %q", text, written)
		}
		var laid bytes.Buffer
		if stdjson.Indent(&laid, []byte(text), "", "\t") == nil {
			if got := jsonIndent(th, &call{def: &builtinDef{name: "json"}, recv: unboundVal, args: []val{stringVal(text, label.BottomID), unboundVal, unboundVal}}); got.str() != laid.String() {
				t.Errorf("%q was laid out as %q, want %q", text, got.str(), laid.String())
			}
		}
	})
}

// outOfRange reports whether a text has a number that no float holds.
func outOfRange(text string) bool {
	var v any
	return stdjson.Unmarshal([]byte(text), &v) != nil
}
