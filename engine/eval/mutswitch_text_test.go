package eval

// mutantSwitch is the file that the rewritten ones rest on. n is the id of a place's first mutant.
const mutantSwitch = `package eval

import "callgate/engine/label"

var (
	mutNow  int
	mutLive [10000]bool
)

// low is the label that nothing is hidden under.
func (t *thread) mutLow() label.ID {
	return t.tab.Intern(label.New(label.User, label.Public(), nil))
}

// without notes that mutant n would leave out l, of which kept says all or nothing.
func (t *thread) mutWithout(n int, l, kept label.ID) {
	if mutNow == 0 && !mutLive[n] && !t.tab.Flows(l, kept) && !t.tab.Flows(l, t.mutLow()) {
		mutLive[n] = true
	}
}

func mutStatement(n int) bool {
	mutLive[n] = true
	return mutNow != n
}

func mutLabel(n int, instead, l label.ID) label.ID {
	mutLive[n] = mutLive[n] || instead.Class() != l.Class()
	if mutNow == n {
		return instead
	}
	return l
}

func (t *thread) mutLabel(n int, instead, l label.ID) label.ID {
	t.mutWithout(n, l, instead)
	if mutNow == n {
		return instead
	}
	return l
}

func (t *thread) mutJoin(n int, a, b label.ID) label.ID {
	t.mutWithout(n, b, a)
	t.mutWithout(n+1, a, b)
	switch mutNow {
	case n:
		return a
	case n + 1:
		return b
	}
	return t.join(a, b)
}

func (t *thread) mutUnder(n int, saved, l label.ID) label.ID {
	t.mutWithout(n, l, saved)
	t.mutWithout(n+1, saved, l)
	switch mutNow {
	case n:
		return saved
	case n + 1:
		return t.tab.Control(l)
	}
	return t.under(saved, l)
}

func (t *thread) mutLevel(n int, saved label.ID) label.ID {
	l := t.level(saved)
	t.mutWithout(n, l, saved)
	if mutNow == n {
		return saved
	}
	return l
}

func (t *thread) mutStructure(n int, v val) label.ID {
	l := t.structure(v)
	t.mutWithout(n, l, label.BottomID)
	if mutNow == n {
		return label.BottomID
	}
	return l
}

func (t *thread) mutShallow(n int, c *call) label.ID {
	l := t.shallow(c)
	t.mutWithout(n, l, t.pc)
	if mutNow == n {
		return t.pc
	}
	return l
}

func (t *thread) mutAllOf(n int, c *call) label.ID {
	l := t.allOf(c)
	t.mutWithout(n, l, t.pc)
	if mutNow == n {
		return t.pc
	}
	return l
}

func (t *thread) mutDeepLabel(n int, v val) label.ID {
	l := t.deepLabel(v)
	t.mutWithout(n, l, v.lab)
	if mutNow == n {
		return v.lab
	}
	return l
}

func (t *thread) mutEverything(n int) label.ID {
	mutLive[n] = true
	if mutNow == n {
		return label.BottomID
	}
	return t.everything()
}

func (t *thread) mutKeyLab(n int, v val) label.ID {
	l := t.keyLab(v)
	t.mutWithout(n, l, v.lab)
	if mutNow == n {
		return t.tab.Control(v.lab)
	}
	return l
}

func (t *thread) mutKeyLabel(n int, c *call) label.ID {
	l, less := t.keyLabel(c), t.shallow(c)
	t.mutWithout(n, l, less)
	if mutNow == n {
		return less
	}
	return l
}

func (t *thread) mutAnnounce(n int, r *region, before, full, cond label.ID) {
	mutLive[n] = true
	if mutNow == n {
		t.conds = append(t.conds, cond)
		return
	}
	t.announce(r, before, full, cond)
}

func (t *thread) mutWrite(n int, st *label.ID, ref label.ID, p pos) label.ID {
	t.mutWithout(n, t.under(t.pc, ref), *st)
	t.mutWithout(n+1, ref, t.pc)
	switch mutNow {
	case n:
		return t.under(t.pc, ref)
	case n + 1:
		ref = label.BottomID
	}
	return t.write(st, ref, p)
}

func (t *thread) mutFail(n int, p pos, l label.ID, code, format string, args ...any) *Error {
	t.mutWithout(n, l, t.pc)
	if mutNow == n {
		l = label.BottomID
	}
	return t.fail(p, l, code, format, args...)
}

func (t *thread) mutErrorf(n int, l label.ID, code, format string, args ...any) *Error {
	t.mutWithout(n, l, t.pc)
	if mutNow == n {
		l = label.BottomID
	}
	return t.errorf(l, code, format, args...)
}

func (v val) mutWith(n int, l label.ID) val {
	mutLive[n] = mutLive[n] || v.lab.Class() != l.Class()
	if mutNow == n {
		return v
	}
	return v.with(l)
}

func mutTableJoin(n int, t *label.Table, a, b label.ID) label.ID {
	mutLive[n], mutLive[n+1] = mutLive[n] || !t.Flows(b, a), mutLive[n+1] || !t.Flows(a, b)
	switch mutNow {
	case n:
		return a
	case n + 1:
		return b
	}
	return t.Join(a, b)
}

func mutFlows(n int, t *label.Table, a, b label.ID) bool {
	ok := t.Flows(a, b)
	mutLive[n] = mutLive[n] || !ok
	return mutNow == n || ok
}

func mutControl(n int, t *label.Table, a label.ID) label.ID {
	mutLive[n] = mutLive[n] || a.Class() != label.BottomID.Class()
	if mutNow == n {
		return label.BottomID
	}
	return t.Control(a)
}
`

const mutantHooks = `package eval

func init() { mutants.now, mutants.live = &mutNow, mutLive[:] }
`
