package eval

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"callgate/engine/label"
	"callgate/engine/syntax"
)

// addModules adds the modules that programs import. They come under names that no program can spell: an import gives them one.
func addModules() {
	add := func(m *module) { universe[syntax.Module(m.name)] = moduleVal(m, label.BottomID) }
	add(universe["json"].module())
	for _, m := range []*module{collectionsModule(), copyModule(), csvModule(), datetimeModule(), heapModule(), htmlModule(), ioModule()} {
		add(m)
	}
	add(mathModule())
	add(reModule())
	add(itertoolsModule())
	add(textwrapModule())
	add(statisticsModule())
	add(makeModule("functools", map[string]*builtinDef{
		"reduce": def("functools.reduce", "function, iterable, initial?", runReduce),
		// A decorator that keeps the name of a function: functions have the names that they were defined with.
		"wraps": def("functools.wraps", "wrapped", func(*thread, *call) val { return universe["<same>"] }),
	}))
	add(makeModule("base64", map[string]*builtinDef{
		"b64encode":         def("base64.b64encode", "s", encode64(base64.StdEncoding)),
		"b64decode":         def("base64.b64decode", "s", decode64(base64.StdEncoding)),
		"urlsafe_b64encode": def("base64.urlsafe_b64encode", "s", encode64(base64.URLEncoding)),
		"urlsafe_b64decode": def("base64.urlsafe_b64decode", "s", decode64(base64.URLEncoding)),
	}))
	add(makeModule("hashlib", map[string]*builtinDef{"sha256": def("hashlib.sha256", "data?", runSHA256)}))
	addMethod(kBytes, "hex", "", bytesHex)
	addMethod(kBytes, "hexdigest", "", bytesHex) // what sha256 gives is the digest itself
	addMethod(kBytes, "digest", "", func(t *thread, c *call) val { return c.recv })
	const lower, upper, digits, punctuation, space = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", " \t\n\r\v\f"
	add(constants("string", map[string]string{
		"ascii_lowercase": lower, "ascii_uppercase": upper, "ascii_letters": lower + upper, "digits": digits, "hexdigits": digits + "abcdefABCDEF", "octdigits": "01234567",
		"punctuation": punctuation, "whitespace": space, "printable": digits + lower + upper + punctuation + space,
	}))
}

func constants(name string, texts map[string]string) *module {
	m := &module{name, map[string]val{}}
	for n, s := range texts {
		m.attrs[n] = stringVal(s, label.BottomID)
	}
	return m
}

// runReduce is functools.reduce: the function of what there is so far and each element.
func runReduce(t *thread, c *call) val {
	v := t.iterableArg(c, 1)
	l := t.shallow(c)
	items := t.elements(v)
	t.hold(listVal(&list{items: items}, label.BottomID))
	slot := &list{items: make([]val, 1)}
	t.hold(listVal(slot, label.BottomID))
	switch {
	case c.has(2):
		slot.items[0] = c.args[2]
	case len(items) == 0:
		panic(t.argError(c, "empty", "empty iterable with no initial value").of("TypeError").hint("give the value to begin with: reduce(f, xs, 0)"))
	default:
		slot.items[0], items = items[0], items[1:]
	}
	for _, e := range items {
		t.charge(1)
		so := slot.items[0]
		slot.items[0] = t.callUnder(l, c.args[0], so.with(t.join(so.lab, l)), e.with(t.join(e.lab, l)))
	}
	out := slot.items[0]
	t.dropHeld(len(t.held) - 2)
	return out.with(t.join(out.lab, l))
}

// octets returns argument i, bytes, or with text set a string too.
func (c *call) octets(t *thread, i int, text bool) string {
	v := c.args[i]
	if v.k != kBytes && !(text && v.k == kString) {
		e := t.badArg(c, "for parameter %s: got %s, want bytes", paramName(c, i), v.typeName())
		if v.k == kString {
			e.hint("write s.encode()")
		}
		panic(e)
	}
	return v.str()
}

func encode64(enc *base64.Encoding) native {
	return func(t *thread, c *call) val {
		s := c.octets(t, 0, false)
		n := enc.EncodedLen(len(s))
		t.alloc(stringSize(int64(n)))
		t.charge(int64(len(s)) / 16)
		var out strings.Builder
		out.Grow(n)
		const piece = pieceBytes / 3 * 3
		buf := make([]byte, 0, min(n, enc.EncodedLen(piece)))
		for len(s) > 0 {
			m := min(len(s), piece)
			buf = enc.AppendEncode(buf[:0], []byte(s[:m]))
			out.Write(buf)
			s = s[m:]
			t.poll()
		}
		return bytesVal(out.String(), t.shallow(c))
	}
}

func decode64(enc *base64.Encoding) native {
	return func(t *thread, c *call) val {
		s := c.octets(t, 0, true)
		t.alloc(stringSize(int64(len(s))) * 2)
		t.charge(int64(len(s)) / 16)
		var out strings.Builder
		out.Grow(enc.DecodedLen(len(s)))
		const piece = pieceBytes / 4 * 4
		for len(s) > 0 {
			m := min(len(s), piece)
			b, err := enc.DecodeString(s[:m])
			if err != nil {
				panic(t.argError(c, "encoding", "not valid base64"))
			}
			out.Write(b)
			s = s[m:]
			t.poll()
		}
		return bytesVal(out.String(), t.shallow(c))
	}
}

// runSHA256 returns the digest of bytes.
func runSHA256(t *thread, c *call) val {
	h := sha256.New()
	if c.has(0) {
		s := c.octets(t, 0, false)
		for len(s) > 0 {
			m := min(len(s), pieceBytes)
			t.charge(int64(m) / 8)
			h.Write([]byte(s[:m]))
			s = s[m:]
			t.poll()
		}
	}
	t.alloc(stringSize(sha256.Size))
	return bytesVal(string(h.Sum(nil)), t.shallow(c))
}

func bytesHex(t *thread, c *call) val {
	w := textWriter{t: t}
	for s := c.recv.str(); len(s) > 0; {
		m := min(len(s), 1024)
		w.put(hex.EncodeToString([]byte(s[:m])))
		s = s[m:]
	}
	return stringVal(w.end(), t.shallow(c))
}
