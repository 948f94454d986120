package eval

import (
	"slices"
	"strconv"

	"callgate/engine/label"
)

// A match is an object of its pattern, its text, and for each group where it begins and ends, or -1.

func (o *object) span(g int) (from, to int64) { return o.items[2+2*g].n, o.items[3+2*g].n }

// groupText returns the text of a group, or def.
func (t *thread) groupText(o *object, g int, l label.ID, def val) val {
	from, to := o.span(g)
	if from < 0 || to < 0 {
		return def
	}
	return stringVal(t.copied(o.items[1].str()[from:to]), l)
}

// groupNumber returns which group a value names: a number or a name.
func (t *thread) groupNumber(m *object, v val, l label.ID) int {
	re := m.items[0].object().re
	switch v.k {
	case kInt:
		if v.n >= 0 && v.n <= int64(re.groups) {
			return int(v.n)
		}
	case kString:
		if g := slices.Index(re.names[1:], v.str()); g >= 0 && v.n > 0 {
			return g + 1
		}
	}
	e := t.errorf(t.join(l, t.deepLabel(v)), "no-field", "%sno such group: %s", t.prefix(), t.short(v)).of("IndexError")
	panic(e.advise("there are 0 to " + strconv.Itoa(re.groups)))
}

// lastGroup returns the group that closed last, or 0.
func (o *object) lastGroup() int {
	re := o.items[0].object().re
	best, at := 0, int64(-1)
	for g := 1; g <= re.groups; g++ {
		if _, to := o.span(g); to >= 0 && (to > at || to == at && re.closes[g] > re.closes[best]) {
			best, at = g, to
		}
	}
	return best
}

func addMatch() {
	k := matchClass
	k.check = func(o *object) bool {
		if len(o.items) < 4 || ofClass(o.items[0]) != patternClass || o.items[1].k != kString || o.n != 0 {
			return false
		}
		re := o.items[0].object().re
		if re == nil || len(o.items) != 2+2*(re.groups+1) {
			return false
		}
		for _, v := range o.items[2:] {
			if v.k != kInt || v.n < -1 || v.n > o.items[1].n {
				return false
			}
		}
		for g := range re.groups + 1 {
			if from, to := o.span(g); from >= 0 && to >= 0 && from > to {
				return false
			}
		}
		from, to := o.span(0)
		return from >= 0 && to >= 0
	}
	k.repr = func(w *textWriter, v val) {
		from, to := v.object().span(0)
		w.put("<re.Match object; span=(" + strconv.FormatInt(from, 10) + ", " + strconv.FormatInt(to, 10) + "), match=")
		w.quoted(v.object().items[1].str()[from:min(to, from+50)], false)
		w.put(">")
	}
	k.index = func(t *thread, x, y val, p pos) val {
		o := x.object()
		l := t.join(x.lab, y.lab)
		t.at = p
		return t.groupText(o, t.groupNumber(o, y, l), l, noneVal(l))
	}
	k.field("string", func(_ *thread, v val) val { return v.object().items[1] })
	k.field("re", func(_ *thread, v val) val { return v.object().items[0] })
	k.field("lastindex", func(_ *thread, v val) val {
		if g := v.object().lastGroup(); g > 0 {
			return intVal(int64(g), label.BottomID)
		}
		return noneVal(label.BottomID)
	})
	k.field("lastgroup", func(t *thread, v val) val {
		o := v.object()
		if name := o.items[0].object().re.names[o.lastGroup()]; name != "" {
			return stringVal(t.copied(name), label.BottomID)
		}
		return noneVal(label.BottomID)
	})
	k.method("group", "...", func(t *thread, c *call) val {
		t.unnamed(c)
		o, l := c.recv.object(), t.shallow(c)
		switch len(c.args) {
		case 0:
			return t.groupText(o, 0, l, noneVal(l))
		case 1:
			return t.groupText(o, t.groupNumber(o, c.args[0], l), l, noneVal(l))
		}
		t.alloc(tupleSize + blockSize(int64(len(c.args))*valSize))
		t.charge(int64(len(c.args)))
		items := make([]val, len(c.args))
		for i, a := range c.args {
			items[i] = t.groupText(o, t.groupNumber(o, a, l), l, noneVal(l))
		}
		return tupleVal(items, l)
	})
	k.method("groups", "default?", func(t *thread, c *call) val {
		o, l := c.recv.object(), t.join(c.recv.lab, t.pc)
		n := o.items[0].object().re.groups
		t.alloc(tupleSize + blockSize(int64(n)*valSize))
		items := make([]val, n)
		for g := range items {
			items[g] = t.groupText(o, g+1, l, t.defaultArg(c, 0, l))
		}
		return tupleVal(items, l)
	})
	k.method("groupdict", "default?", func(t *thread, c *call) val {
		o, l := c.recv.object(), t.join(c.recv.lab, t.pc)
		t.alloc(dictSize)
		d := &dict{st: l}
		out := dictVal(d, l)
		for g, name := range o.items[0].object().re.names {
			if name != "" {
				key := stringVal(t.copied(name), l)
				t.put(d, key, t.hash(key), t.groupText(o, g, l, t.defaultArg(c, 0, l)))
			}
		}
		return out
	})
	place := func(name string, of func(t *thread, from, to int64, l label.ID) val) {
		k.method(name, "group?", func(t *thread, c *call) val {
			l := t.shallow(c)
			g := 0
			if c.has(0) {
				g = t.groupNumber(c.recv.object(), c.args[0], l)
			}
			from, to := c.recv.object().span(g)
			if from < 0 || to < 0 {
				from, to = -1, -1
			}
			return of(t, from, to, l)
		})
	}
	place("start", func(_ *thread, from, _ int64, l label.ID) val { return intVal(from, l) })
	place("end", func(_ *thread, _, to int64, l label.ID) val { return intVal(to, l) })
	place("span", func(t *thread, from, to int64, l label.ID) val {
		t.alloc(pairSize)
		return pairVal(intVal(from, l), intVal(to, l), l)
	})
	k.method("expand", "template", func(t *thread, c *call) val {
		o := c.recv.object()
		re := o.items[0].object().re
		m := &matcher{t: t, re: re, s: o.items[1].str(), caps: make([]int, 0, 2*(re.groups+1))}
		for _, v := range o.items[2:] {
			m.caps = append(m.caps, int(v.n))
		}
		w := textWriter{t: t}
		m.fill(&w, t.template(c, re, c.wantString(t, 0)))
		return stringVal(w.end(), t.shallow(c))
	})
}
