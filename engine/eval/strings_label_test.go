package eval

import (
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// tagged is a label that says by its tag what depends on it.
func tagged(tag string) label.Label { return label.New(label.System, label.Public(), []string{tag}) }

func tags(l label.Label) string { return strings.Join(l.Tags(), " ") }

// TestTextCarriesTheLabelsOfWhatItIsMadeOf names, for an expression, the inputs that its result depends on:
// of the reference and, for a list or dict, of its structure and of all that is in it.
func TestTextCarriesTheLabelsOfWhatItIsMadeOf(t *testing.T) {
	for _, test := range []struct{ expr, whole, structure string }{
		{"s.upper()", "s", ""},
		{"s.islower()", "s", ""},
		{"s.find(a)", "a s", ""},
		{"s.find(a, i)", "a i s", ""},
		{"s.count('x', 0, i)", "i s", ""},
		{"s.startswith(a)", "a s", ""},
		{"s.startswith(('nope', a))", "a s", ""},
		{"s.startswith(('x', a))", "s", ""}, // x decides: a is not read
		{"s.strip(a)", "a s", ""},
		{"s.removeprefix(a)", "a s", ""},
		{"s.partition(a)", "a s", ""},
		{"s.partition(a)[1]", "a s", ""},
		{"s.split()", "s", "s"},
		{"s.split(a)", "a s", "a s"},
		{"s.split(a, i)[0]", "a i s", ""},
		{"s.splitlines()", "s", "s"},
		{"len(s.splitlines())", "s", ""},
		{"s.elems()", "s", ""},
		{"[c for c in s.elems()]", "s", "s"},
		{"[o for o in s.codepoint_ords()]", "s", "s"},
		{"'-'.join([s, 'x', a])", "a s", ""},
		{"s.join(['x'])", "s", ""}, // that there is one only is of the list
		{"'-'.join(xs)", "x", ""},
		{"a.join(xs)", "a x", ""},
		{"s.replace('x', a)", "a s", ""},
		{"s.replace('x', 'y', i)", "i s", ""},
		{"s.ljust(i)", "i s", ""},
		{"s.center(9, a)", "a s", ""},
		{"s.zfill(i)", "i s", ""},
		{"s.expandtabs(i)", "i s", ""},
		{"s.encode()", "s", ""},
		{"s.encode().decode()", "s", ""},
		{"'%s' % s", "s", ""},
		{"'%s %s' % (s, a)", "a s", ""},
		{"'%s' % [s, [a]]", "a s", ""},
		{"'%(p)s' % {'p': s, 'q': a}", "s", ""}, // a is not shown
		{"'%*d' % (i, 1)", "i", ""},
		{"s % ()", "s", ""},
		{"'{} {}'.format(s, a)", "a s", ""},
		{"'{p}'.format(p = [s, {'k': a}])", "a s", ""},
		{"'{:{}}'.format(s, i)", "i s", ""},
		{"s.format()", "s", ""},
		{"json.encode([s, {'k': a}])", "a s", ""},
		{"json.encode(d)", "d", ""},
		{"json.encode_indent({'k': s}, indent = a)", "a s", ""},
		{"json.dumps({'k': s}, indent = i)", "i s", ""},
		{"json.dumps([len], default = lambda x: s)", "s", ""},
		{"json.dumps(1, separators = (',', a))", "a", ""},
		{"json.decode(j)", "j", "j"},
		{"json.decode(j)[1]", "j", "j"},
		{"json.decode(j)[1]['k']", "j", ""},
		{"json.decode(s, a)", "a s", ""},
		{"json.decode(j, a)", "j", "j"}, // the default is not used
		{"json.indent(j)", "j", ""},
	} {
		t.Run(test.expr, func(t *testing.T) {
			xs := value.ListOf(label.Bottom(), value.StringOf("e", tagged("x")))
			d := value.DictOf(tagged("d"))
			d.Structure = tagged("d")
			k := newChecker(t, Limits{},
				Input{"s", value.StringOf("xyz", tagged("s"))}, Input{"a", value.StringOf("y", tagged("a"))},
				Input{"i", value.IntOf(5, tagged("i"))}, Input{"xs", xs}, Input{"d", d},
				Input{"j", value.StringOf(`[1, {"k": "v"}]`, tagged("j"))})
			if out := k.run("t.star", "r = "+test.expr); out.Err != nil {
				t.Fatal(out.Err)
			} else if !out.Floor.Equal(label.Bottom()) {
				t.Errorf("the floor rose to %v", out.Floor)
			}
			v, err := k.s.Get("r")
			if err != nil {
				t.Fatal(err)
			}
			if got := tags(v.Deep()); got != test.whole {
				t.Errorf("depends on %q, want %q", got, test.whole)
			}
			if v.Scalar() {
				return
			}
			if got := tags(v.Structure); got != test.structure {
				t.Errorf("its structure depends on %q, want %q", got, test.structure)
			}
		})
	}
}

func TestErrorsOfTextCarryTheLabelsOfWhatWasRead(t *testing.T) {
	for _, test := range []struct{ expr, want string }{
		{"s.index(a)", "a s"},
		{"s.find(i)", "i s"},
		{"'-'.join([s, i])", "i s"},
		{"'-'.join([s, [a]])", "a s"},
		{"'%d' % s", "s"},
		{"'%d %s' % (i, )", "i"},
		{"'%s' % (s, a)", "a s"},
		{"'{:d}'.format(s)", "s"},
		{"'{}'.format() + s", ""},
		{"'{:{}}'.format(1, s)", "s"},
		{"json.decode(s)", "s"},
		{"json.encode({'k': [s, len]})", "s"},
		{"json.dumps([len], default = lambda x: [s, len])", "s"},
		{"s.encode(a)", "a s"},
	} {
		t.Run(test.expr, func(t *testing.T) {
			k := newChecker(t, Limits{}, Input{"s", value.StringOf("xyz", tagged("s"))},
				Input{"a", value.StringOf("q", tagged("a"))}, Input{"i", value.IntOf(1, tagged("i"))})
			out := k.run("t.star", "r = "+test.expr)
			if out.Err == nil {
				t.Fatal("no error")
			}
			if got := tags(out.Err.Label); got != test.want {
				t.Errorf("%v: depends on %q, want %q", out.Err, got, test.want)
			}
		})
	}
}

// TestBuiltinsAskForWhatTheyReadDeeper says which labels policies are asked about.
func TestBuiltinsAskForWhatTheyReadDeeper(t *testing.T) {
	for _, test := range []struct{ expr, tool, want string }{
		{"'-'.join(xs)", "string.join", "x"},
		{"'{}'.format(xs)", "string.format", "x"},
		{"json.encode(xs)", "json.encode", "x"},
		{"json.dumps({'k': xs})", "json.dumps", "x"},
		{"'y'.startswith((xs[0], 'z'))", "string.startswith", "x"},
	} {
		t.Run(test.expr, func(t *testing.T) {
			h := &recorder{}
			xs := value.ListOf(label.Bottom(), value.StringOf("e", tagged("x")))
			s, err := NewSession(Config{Host: h, Inputs: []Input{{"xs", xs}}})
			if err != nil {
				t.Fatal(err)
			}
			(&checker{t, s}).run("t.star", "r = "+test.expr)
			asked := false
			for _, c := range h.calls {
				asked = asked || c.Tool == test.tool && tags(c.Args[0].Value.Label) == test.want
			}
			if !asked {
				t.Errorf("was not asked about %s of %q", test.tool, test.want)
			}
		})
	}
}
