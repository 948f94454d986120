package eval

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/engine/label"
)

var (
	patternClass = addClass("Pattern")
	matchClass   = addClass("Match")
)

// reModule makes the module re.
func reModule() *module {
	addPattern()
	addMatch()
	m := &module{"re", map[string]val{}}
	add := func(name, params string, run native) {
		m.attrs[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: def("re."+name, params, run)}, label.BottomID)
	}
	add("compile", "pattern, flags?", func(t *thread, c *call) val { return t.pattern(c, 0, 1) })
	// The functions of a pattern and a text are the methods of the pattern.
	for _, f := range []struct {
		name, params string
		flags        int
		run          patternFunc
	}{
		{"search", "pattern, string, flags?", 2, search},
		{"match", "pattern, string, flags?", 2, matchHere},
		{"fullmatch", "pattern, string, flags?", 2, matchWhole},
		{"findall", "pattern, string, flags?", 2, findAll},
		{"finditer", "pattern, string, flags?", 2, findMatches},
		{"split", "pattern, string, maxsplit?, flags?", 3, splitText},
	} {
		add(f.name, f.params, func(t *thread, c *call) val {
			return f.run(t, c, t.pattern(c, 0, f.flags), 1)
		})
	}
	for _, count := range []bool{false, true} {
		name := map[bool]string{false: "sub", true: "subn"}[count]
		add(name, "pattern, repl, string, count?, flags?", func(t *thread, c *call) val {
			return t.replaceMatches(c, t.pattern(c, 0, 4), 1, count)
		})
	}
	add("escape", "pattern", reEscape)
	for _, f := range []struct {
		names string
		value int64
	}{{"I IGNORECASE", reIgnoreCase}, {"M MULTILINE", reMultiline}, {"S DOTALL", reDotAll}, {"U UNICODE", reUnicode}, {"X VERBOSE", reVerbose}, {"A ASCII", reASCII}} {
		for _, n := range strings.Fields(f.names) {
			m.attrs[n] = intVal(f.value, label.BottomID)
		}
	}
	return m
}

// patternFunc is a function of a pattern and the text in the argument text, with what follows it.
type patternFunc func(t *thread, c *call, p val, text int) val

// pattern returns argument i as a compiled pattern.
func (t *thread) pattern(c *call, i, flags int) val {
	v := c.args[i]
	bits := int64(0)
	if !c.none(flags) {
		bits = t.intArg(c, flags)
	}
	if ofClass(v) == patternClass {
		if bits != 0 {
			panic(t.argError(c, "argument", "cannot process flags argument with a compiled pattern").hint("give the flags to compile"))
		}
		return v
	}
	if v.k != kString {
		panic(t.badArg(c, "for parameter pattern: got %s, want string or a compiled pattern", v.typeName()))
	}
	if bits&^(reIgnoreCase|reMultiline|reDotAll|reUnicode|reVerbose|reASCII) != 0 {
		panic(t.argError(c, "argument", "got the flags %d; there are I, M, S, X, A and U", bits))
	}
	re, err := t.regex(v.str(), int(bits)&^reUnicode)
	if err != nil {
		text := err.text
		if err.at >= 0 {
			text += " at position " + strconv.Itoa(err.at)
		}
		panic(t.argError(c, "parse", "%s", text).advise(err.hint))
	}
	return t.patternOf(re, v, t.shallow(c))
}

func (t *thread) patternOf(re *regex, text val, l label.ID) val {
	v := t.newObject(patternClass, int64(re.flags), l, text.with(l))
	v.object().re = re
	return v
}

func addPattern() {
	p := patternClass
	p.check = func(o *object) bool {
		if len(o.items) != 1 || o.items[0].k != kString {
			return false
		}
		re, err := compileRegex(o.items[0].str(), int(o.n)&^reUnicode)
		o.re = re
		return err == nil && int64(re.flags) == o.n
	}
	p.repr = func(w *textWriter, v val) {
		o := v.object()
		w.put("re.compile(")
		w.write(o.items[0])
		sep := ", "
		for _, f := range []struct {
			name  string
			value int64
		}{{"IGNORECASE", reIgnoreCase}, {"MULTILINE", reMultiline}, {"DOTALL", reDotAll}, {"VERBOSE", reVerbose}, {"ASCII", reASCII}} {
			if o.n&f.value != 0 {
				w.put(sep + "re." + f.name)
				sep = "|"
			}
		}
		w.put(")")
	}
	p.equal = func(t *thread, a, b val) bool {
		x, y := a.object(), b.object()
		return x.n == y.n && t.keyEqual(x.items[0], y.items[0])
	}
	p.hash = func(t *thread, v val) uint64 { return mix(t.hash(v.object().items[0]) ^ uint64(v.object().n)) }
	p.field("pattern", func(_ *thread, v val) val { return v.object().items[0] })
	p.field("flags", func(_ *thread, v val) val { return intVal(v.object().n, label.BottomID) })
	p.field("groups", func(_ *thread, v val) val { return intVal(int64(v.object().re.groups), label.BottomID) })
	p.field("groupindex", func(t *thread, v val) val {
		t.alloc(dictSize)
		d := &dict{st: v.lab}
		for g, name := range v.object().re.names {
			if name != "" {
				k := stringVal(t.copied(name), label.BottomID)
				t.put(d, k, t.hash(k), intVal(int64(g), label.BottomID))
			}
		}
		return dictVal(d, v.lab)
	})
	for _, f := range []struct {
		name, params string
		run          patternFunc
	}{
		{"search", "string, pos?, endpos?", search}, {"match", "string, pos?, endpos?", matchHere}, {"fullmatch", "string, pos?, endpos?", matchWhole},
		{"findall", "string, pos?, endpos?", findAll}, {"finditer", "string, pos?, endpos?", findMatches}, {"split", "string, maxsplit?", splitText},
	} {
		p.method(f.name, f.params, func(t *thread, c *call) val { return f.run(t, c, c.recv, 0) })
	}
	p.method("sub", "repl, string, count?", func(t *thread, c *call) val { return t.replaceMatches(c, c.recv, 0, false) })
	p.method("subn", "repl, string, count?", func(t *thread, c *call) val { return t.replaceMatches(c, c.recv, 0, true) })
}

// scan begins a search: it returns a matcher of the pattern for the text, and where it starts.
func (t *thread) scan(c *call, p val, text int) (m *matcher, from int) {
	s := c.wantString(t, text)
	if c.recv.k == kUnbound || text+2 >= len(c.def.params) || c.def.params[text+1] != "pos" {
		return t.newMatcher(p.object().re, s), 0
	}
	clip := func(i int, def int64) int { return int(min(max(c.wantInt(t, i, def), 0), int64(len(s)))) }
	from, end := clip(text+1, 0), clip(text+2, int64(len(s)))
	return t.newMatcher(p.object().re, s[:max(from, end)]), from
}

// matched is the match that a matcher has found.
func (t *thread) matched(m *matcher, p, text val, l label.ID) val {
	n := len(m.caps)
	t.alloc(objectSize + blockSize(int64(n+2)*valSize))
	items := make([]val, n+2)
	items[0], items[1] = p.with(l), text.with(l)
	for i, at := range m.caps {
		items[i+2] = intVal(int64(at), label.BottomID)
	}
	return objectVal(&object{tuple: tuple{items: items}, class: matchClass}, l)
}

func search(t *thread, c *call, p val, text int) val {
	m, from := t.scan(c, p, text)
	return t.foundOne(c, m, p, text, m.find(from))
}

func matchHere(t *thread, c *call, p val, text int) val {
	m, from := t.scan(c, p, text)
	return t.foundOne(c, m, p, text, m.run(from))
}

func matchWhole(t *thread, c *call, p val, text int) val {
	m, from := t.scan(c, p, text)
	m.full = true
	return t.foundOne(c, m, p, text, m.run(from))
}

// foundOne is the match, or None.
func (t *thread) foundOne(c *call, m *matcher, p val, text int, ok bool) val {
	l := t.join(t.shallow(c), p.lab)
	v := noneVal(l)
	if ok {
		v = t.matched(m, p, c.args[text], l)
	}
	m.done()
	return v
}

// all calls f for every match, until it returns false. f may call functions of the program.
func (m *matcher) all(from int, f func() bool) {
	m.must = -1
	for from <= len(m.s) && m.find(from) {
		begin, end := m.caps[0], m.caps[1]
		if !f() {
			return
		}
		if from, m.must = end, -1; begin == end {
			m.must = end
		}
	}
}

// group returns the text of a group, or def if it has not matched.
func (m *matcher) group(g int, l label.ID, def val) val {
	from, to := m.caps[2*g], m.caps[2*g+1]
	if from < 0 || to < 0 {
		return def
	}
	return stringVal(m.t.copied(m.s[from:to]), l)
}

// groupsOf returns what findall has of a match: its text, that of its group, or a tuple of those of its groups.
func (m *matcher) groupsOf(l label.ID) val {
	none := stringVal("", l)
	switch n := m.re.groups; n {
	case 0, 1:
		return m.group(n, l, none)
	default:
		m.t.alloc(tupleSize + blockSize(int64(n)*valSize))
		items := make([]val, n)
		for g := range items {
			items[g] = m.group(g+1, l, none)
		}
		return tupleVal(items, l)
	}
}

func findAll(t *thread, c *call, p val, text int) val {
	l := t.join(t.shallow(c), p.lab)
	m, from := t.scan(c, p, text)
	base := len(t.parts)
	m.all(from, func() bool {
		t.keep(m.groupsOf(l))
		return true
	})
	m.done()
	return listVal(&list{items: t.gather(base), st: l}, l)
}

func findMatches(t *thread, c *call, p val, text int) val {
	l := t.join(t.shallow(c), p.lab)
	m, from := t.scan(c, p, text)
	base := len(t.parts)
	m.all(from, func() bool {
		t.keep(t.matched(m, p, c.args[text], l))
		return true
	})
	m.done()
	return listVal(&list{items: t.gather(base), st: l}, l)
}

func splitText(t *thread, c *call, p val, text int) val {
	l := t.join(t.shallow(c), p.lab)
	most := c.wantInt(t, text+1, 0)
	m, _ := t.scan(c, p, text)
	base, last, n := len(t.parts), 0, int64(0)
	if most >= 0 {
		m.all(0, func() bool {
			t.keep(stringVal(t.copied(m.s[last:m.caps[0]]), l))
			for g := range m.re.groups {
				t.keep(m.group(g+1, l, noneVal(l)))
			}
			last = m.caps[1]
			n++
			return n != most
		})
	}
	t.keep(stringVal(t.copied(m.s[last:]), l))
	m.done()
	return listVal(&list{items: t.gather(base), st: l}, l)
}

// piece is a part of a template: a text, and after it a group unless that is negative.
type piece struct {
	text  string
	group int
}

// template parses what a match is replaced by.
func (t *thread) template(c *call, re *regex, s string) []piece {
	if !strings.Contains(s, `\`) {
		return []piece{{s, -1}}
	}
	t.charge(int64(len(s)))
	t.alloc(int64(len(s)) * 24)
	bad := func(at int, text, hint string) {
		panic(t.argError(c, "parse", "%s at position %d of the replacement", text, at).hint(hint))
	}
	number := func(at int, digits string) int {
		n, _ := strconv.Atoi(digits)
		if n > re.groups || len(digits) > 6 {
			bad(at, "invalid group reference "+clip(digits), "")
		}
		return n
	}
	var out []piece
	var text strings.Builder
	put := func(g int) {
		out = append(out, piece{text.String(), g})
		text.Reset()
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			text.WriteByte(s[i])
			continue
		}
		at := i
		if i++; i == len(s) {
			bad(at, "bad escape (end of pattern)", `write \\ for a backslash`)
		}
		switch ch := s[i]; {
		case ch == 'g':
			end := strings.IndexByte(s[i:], '>')
			if i+1 >= len(s) || s[i+1] != '<' || end < 0 {
				bad(at, `missing <…> after \g`, `write \g<1> or \g<name>`)
			}
			name := s[i+2 : i+end]
			i += end
			switch g := slices.Index(re.names[1:], name); {
			case name != "" && strings.Trim(name, "0123456789") == "":
				put(number(at, name))
			case g < 0 || name == "":
				bad(at, "unknown group name "+quote(clip(name), false), "")
			default:
				put(g + 1)
			}
		case ch == '0' || ch >= '1' && ch <= '7' && i+2 < len(s) && octal(s[i:i+3]):
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			v, _ := strconv.ParseInt(s[i:i+n], 8, 32)
			text.WriteRune(rune(v))
			i += n - 1
		case ch >= '1' && ch <= '9':
			n := 1
			if i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' {
				n = 2
			}
			put(number(at, s[i:i+n]))
			i += n - 1
		default:
			if e := strings.IndexByte(`abfnrtv\`, ch); e >= 0 {
				text.WriteByte("\a\b\f\n\r\t\v\\"[e])
			} else if ch < utf8.RuneSelf && (ch|0x20 >= 'a' && ch|0x20 <= 'z') {
				bad(at, `bad escape \`+string(rune(ch)), `write \\ for a backslash`)
			} else {
				text.WriteString(s[at : i+1])
			}
		}
	}
	put(-1)
	return out
}

func octal(s string) bool { return strings.Trim(s, "01234567") == "" && s[0] <= '3' }

// fill writes a template for the match that was found.
func (m *matcher) fill(w *textWriter, pieces []piece) {
	for _, p := range pieces {
		if p.text != "" {
			w.put(p.text)
		}
		if p.group >= 0 && m.caps[2*p.group] >= 0 {
			w.put(m.s[m.caps[2*p.group]:m.caps[2*p.group+1]])
		}
	}
}

// replaceMatches is sub and subn: arguments from repl on are what a match is replaced by, a text or a function, the text, and how often.
func (t *thread) replaceMatches(c *call, p val, repl int, counted bool) val {
	l := t.join(t.shallow(c), p.lab)
	most := c.wantInt(t, repl+2, 0)
	by := c.args[repl]
	text := c.args[repl+1]
	m, _ := t.scan(c, p, repl+1)
	var pieces []piece
	switch by.k {
	case kString:
		pieces = t.template(c, m.re, by.str())
	case kFunc, kBuiltin:
	default:
		panic(t.badArg(c, "for parameter repl: got %s, want string or a function of a match", by.typeName()))
	}
	w := textWriter{t: t}
	made := l
	last, n := 0, int64(0)
	if most >= 0 {
		m.all(0, func() bool {
			w.put(m.s[last:m.caps[0]])
			last = m.caps[1]
			if pieces != nil {
				m.fill(&w, pieces)
			} else {
				caps := slices.Clone(m.caps)
				r := t.callUnder(l, by, t.matched(m, p, text, l))
				copy(m.caps, caps)
				if r.k != kString {
					panic(t.errorf(t.join(l, r.lab), "argument", "%s: repl gives %s, want string", c.def.name, r.typeName()))
				}
				made = t.join(made, r.lab)
				w.put(r.str())
			}
			n++
			return n != most
		})
	}
	w.put(m.s[last:])
	s := m.s
	m.done()
	t.deeper(c, made)
	out := stringVal(s, made)
	if n > 0 {
		out = stringVal(w.end(), made)
	} else {
		w.end()
	}
	if counted {
		t.alloc(pairSize)
		return pairVal(out, intVal(n, l), l)
	}
	return out
}

// reEscape puts a backslash before what means something in a pattern.
func reEscape(t *thread, c *call) val {
	s := c.wantString(t, 0)
	w := textWriter{t: t}
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:min(len(s), i+chunkBytes)], "()[]{}?*+-|^$\\.&~# \t\n\r\v\f")
		if n < 0 {
			n = min(len(s)-i, chunkBytes)
			w.put(s[i : i+n])
			i += n
			continue
		}
		w.put(s[i : i+n])
		w.put(`\` + s[i+n:i+n+1])
		i += n + 1
	}
	return stringVal(w.end(), t.shallow(c))
}
