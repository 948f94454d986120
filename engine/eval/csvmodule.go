package eval

import (
	"html"
	"strings"

	"callgate/engine/label"
)

// csvModule makes the module csv, of what reads a text. Each row and field depends on all of it.
func csvModule() *module {
	read := func(t *thread, c *call, delimiter int) (rows []val, l label.ID) {
		v := t.iterableArg(c, 0)
		l = t.allOf(c)
		t.deeper(c, l)
		by := byte(',')
		if c.has(delimiter) {
			s := c.wantString(t, delimiter)
			if len(s) != 1 || s[0] >= 0x80 || s == "\"" || s == "\n" || s == "\r" {
				panic(t.badArg(c, "for parameter delimiter: got %s, want one character", t.short(c.args[delimiter])))
			}
			by = s[0]
		}
		r := csvReader{t: t, by: by, l: l}
		it, _ := t.iterate(v)
		for e, ok := it.next(t); ok; e, ok = it.next(t) {
			if e.k != kString {
				panic(t.badArg(c, "got a line that is a %s, want strings", e.typeName()).advise("give the lines of the text: text.splitlines()"))
			}
			r.line(e.str())
		}
		if r.quoted {
			r.endField()
			r.endRow()
		}
		return r.rows, l
	}
	return makeModule("csv", map[string]*builtinDef{
		"reader": def("csv.reader", "lines, delimiter?", func(t *thread, c *call) val {
			rows, l := read(t, c, 1)
			t.alloc(listSize)
			return listVal(&list{items: rows, st: l}, t.pc)
		}),
		"DictReader": def("csv.DictReader", "lines, fieldnames?, delimiter?", func(t *thread, c *call) val {
			rows, l := read(t, c, 2)
			var names []val
			switch {
			case !c.none(1):
				v := t.iterableArg(c, 1)
				names = t.elements(v)
			case len(rows) > 0:
				names, rows = rows[0].list().items, rows[1:]
			}
			t.alloc(listSize)
			out := &list{st: l}
			for _, row := range rows {
				fields := row.list().items
				if len(fields) == 0 {
					continue
				}
				t.alloc(dictSize)
				d := &dict{st: l}
				for i, k := range names {
					t.charge(1)
					v := noneVal(l)
					if i < len(fields) {
						v = fields[i]
					}
					k = k.with(t.join(k.lab, l))
					t.put(d, k, t.hash(k), v)
				}
				if len(fields) > len(names) {
					t.alloc(listSize + blockSize(int64(len(fields)-len(names))*valSize))
					k := noneVal(l)
					t.put(d, k, t.hash(k), listVal(&list{items: append([]val(nil), fields[len(names):]...), st: l}, l))
				}
				t.append(out, dictVal(d, l))
			}
			return listVal(out, t.pc)
		}),
	})
}

// csvReader takes lines apart into fields.
type csvReader struct {
	t  *thread
	by byte
	l  label.ID

	rows   []val
	row    *list
	field  strings.Builder
	quoted bool // within quotes, which may go on in the next line
}

// line reads a line, or what is left of a row of which the line before ended within quotes.
func (r *csvReader) line(s string) {
	t := r.t
	t.charge(1 + int64(len(s))/4)
	if r.row == nil {
		t.alloc(listSize)
		r.row = &list{st: r.l}
		if strings.Trim(s, "\r\n") == "" {
			r.endRow()
			return
		}
	}
	for i := 0; i < len(s); {
		if i&(pieceBytes-1) == pieceBytes-1 {
			t.poll()
		}
		b := s[i]
		switch {
		case r.quoted && b == '"' && i+1 < len(s) && s[i+1] == '"':
			r.put(`"`)
			i++
		case b == '"' && (r.quoted || r.field.Len() == 0):
			r.quoted = !r.quoted
		case r.quoted:
			r.put(s[i : i+1])
		case b == r.by:
			r.endField()
		case b == '\n' || b == '\r':
		default:
			r.put(s[i : i+1])
		}
		i++
	}
	if !r.quoted {
		r.endField()
		r.endRow()
	}
}

func (r *csvReader) put(s string) {
	if r.field.Len() == r.field.Cap() {
		n := max(16, r.field.Len())
		r.t.alloc(int64(2*r.field.Len() + n))
		r.field.Grow(n)
	}
	r.field.WriteString(s)
}

func (r *csvReader) endField() {
	r.t.append(r.row, stringVal(r.t.copied(r.field.String()), r.l))
	r.field.Reset()
}

func (r *csvReader) endRow() {
	t := r.t
	if len(r.rows) == cap(r.rows) {
		n := roomFor(len(r.rows)+1, cap(r.rows), valSize)
		t.alloc(blockSize(int64(n) * valSize))
		r.rows = append(make([]val, 0, n), r.rows...)
	}
	r.rows = append(r.rows, listVal(r.row, r.l))
	r.row, r.quoted = nil, false
}

// ioModule makes the module io, of which there is what turns a text into lines.
func ioModule() *module {
	return makeModule("io", map[string]*builtinDef{"StringIO": def("io.StringIO", "text", func(t *thread, c *call) val {
		s := c.wantString(t, 0)
		l := t.shallow(c)
		t.alloc(listSize)
		out := &list{st: l}
		for s != "" {
			line := s
			if i := strings.IndexByte(s, '\n'); i >= 0 {
				line = s[:i+1]
			}
			t.charge(1 + int64(len(line))/16)
			t.append(out, stringVal(t.copied(line), l))
			s = s[len(line):]
		}
		return listVal(out, t.pc)
	})})
}

// htmlModule makes the module html.
func htmlModule() *module {
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	quoted := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;")
	return makeModule("html", map[string]*builtinDef{
		"escape": def("html.escape", "s, quote?", func(t *thread, c *call) val {
			r := quoted
			if !c.wantBool(t, 1, true) {
				r = escaped
			}
			return t.rewritten(c, 6, r.Replace)
		}),
		"unescape": def("html.unescape", "s", func(t *thread, c *call) val { return t.rewritten(c, 1, html.UnescapeString) }),
	})
}

// rewritten returns what f makes of the first argument, a string, whose every byte becomes so many at most.
func (t *thread) rewritten(c *call, most int64, f func(string) string) val {
	s := c.wantString(t, 0)
	t.charge(int64(len(s)) / 4)
	n := stringSize(most * int64(len(s)))
	t.alloc(2 * n)
	w := textWriter{t: t}
	for len(s) > 0 {
		i := min(len(s), pieceBytes)
		if j := strings.LastIndexByte(s[:i], '&'); j > 0 && i < len(s) { // what is escaped is not cut in two
			i = j
		}
		w.put(f(s[:i]))
		s = s[i:]
		t.poll()
	}
	t.free(2 * n)
	return stringVal(w.end(), t.shallow(c))
}
