package eval

import (
	"strings"
	"testing"
)

// TestErrorsSayWhatToDoInstead runs programs that are wrong in the ways that are common, and looks at the line
// that says how to mend them.
func TestErrorsSayWhatToDoInstead(t *testing.T) {
	for _, test := range []struct{ name, src, text, advice string }{
		{"a loop over bytes", "for c in b'abc': pass", "bytes value is not iterable", "b.elems() gives its bytes, b.decode() the text in it"},
		{"a list of bytes", "list(b'abc')", "list: for parameter x: got bytes, want iterable", "b.elems() gives its bytes, b.decode() the text in it"},
		{"a loop over a number", "for i in 3: pass", "int value is not iterable", "range(n) counts from 0 to n - 1"},
		{"what a method that changes returns", "xs = [2, 1].sort()\nprint(xs[0])", "unhandled index operation NoneType[int]", "the value is None: of a function without a return, of a method that changes its list or dict, or of get without a default"},
		{"unpacking None", "a, b = None", "got NoneType in sequence assignment", "the value is None: of a function without a return, of a method that changes its list or dict, or of get without a default"},
		{"a field of None", "{}.get('a').b", "NoneType has no .b field or method", "the value is None: of a function without a return, of a method that changes its list or dict, or of get without a default"},
		{"a key of a dict with a point", "d = {'id': 1}\nd.id", "dict has no .id field or method", `the value of a key is d["key"], or d.get("key") where it may be missing`},
		{"a method of all elements", "['a'].upper()", "list has no .upper field or method", "take an element first: xs[0], or all of them in a loop"},
		{"a call of a list", "xs = [1]\nxs(0)", "invalid call of non-function (list)", "an element is x[i]; a name of the language may have been assigned to"},
		{"a call of None", "f = {}.get('f')\nf()", "invalid call of non-function (NoneType)", "the value is None: of a function without a return, of a method that changes its list or dict, or of get without a default"},
		{"a call of a module", "json('{}')", "invalid call of non-function (module)", "call one of its functions: module.name(…)"},
		{"a number on a text", "'n: ' + 1", "unknown binary op: string + int", `a string and a number do not add: use str(x), or "…".format(x)`},
		{"a comparison with None", "None < 1", "NoneType < int not implemented", "test for None first: x != None"},
		{"a text compared with a number", "'10' < 9", "string < int not implemented", "make both numbers, int(x) or float(x), or both strings, str(x)"},
		{"sorting dicts", "sorted([{}, {1: 1}])", "sorted: dict < dict not implemented", "sort by something that has an order: sorted(xs, key = lambda x: …)"},
		{"a list as a key", "{[1]: 2}", "unhashable type: list", "a key must not change: use tuple(x)"},
		{"a field of a module", "json.encod('{}')", "json has no .encod (did you mean .encode?)", "json has JSONDecodeError, decode, dumps, encode, encode_indent, indent, loads"},
		{"a key that is missing", "{}['a']", `key "a" not in dict`, "d.get(key) is None where the key is missing, d.get(key, default) the default"},
		{"a local before its assignment", "n = 0\ndef f():\n  n += 1\nf()", "local variable n referenced before assignment", "a function that assigns to a name has it for its own, everywhere in it: say global or nonlocal first, or return the new value"},
		{"a change within a loop", "d = {1: 2}\nfor k in d: d.pop(k)", "pop: cannot delete from hash table during iteration", "iterate over a copy: for x in list(xs)"},
		{"joining numbers", "','.join([1])", "join: in list, want string, got int", "make strings first: sep.join([str(x) for x in xs])"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := newChecker(t, Limits{}).run("t.star", test.src)
			if out.Err == nil {
				t.Fatal("no error")
			}
			if got := out.Err.Hint + out.Err.Advice; out.Err.Text != test.text || got != test.advice {
				t.Errorf("got %q, %q\nwant %q, %q", out.Err.Text, got, test.text, test.advice)
			}
		})
	}
}

// TestSharedNames declares names global and nonlocal that are something else: whether they are bound or only read, they would not be what the
// statement says.
func TestSharedNames(t *testing.T) {
	for src, want := range map[string]string{
		"x = 1\ndef f():\n  x = 2\n  def g():\n    global x\n    return x":                               "x.star:5:12: global x: this function, or one around it, binds x too",
		"x = 1\ndef f():\n  x = 2\n  def g():\n    global x\n    x = 3":                                  "x.star:5:12: global x: this function, or one around it, binds x too",
		"x = 1\ndef f(x):\n  global x\n  x = 3":                                                          "x.star:3:10: global x: this function, or one around it, binds x too",
		"def f():\n  global len\n  len = 3":                                                              "x.star:2:10: global len: no statement at the top level binds it",
		"x = 1\ndef f():\n  nonlocal x\n  return x":                                                      "x.star:3:12: nonlocal x: no function around this one binds it",
		"x = 1\ndef f():\n  y = 1\n  def g():\n    nonlocal y, x\n    y = 2":                             "x.star:5:17: nonlocal x: no function around this one binds it",
		"x = y = 1\ndef f():\n  global x, y\n  x, y = 1, x":                                              "",
		"x = 1\ndef f(y):\n  def g():\n    global x\n    nonlocal y\n    x, y = y, x\n  g()\n  return y": "",
	} {
		_, err := Compile("x.star", []byte(src), Env{})
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", src, got, want)
		}
	}
}
