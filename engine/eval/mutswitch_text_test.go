package eval

// mutantSwitch is the file that the rewritten ones rest on. n is the id of a place's first mutant.
const mutantSwitch = `package eval

import "callgate/engine/label"

var (
	mutNow  int
	mutNear [10000]uint8 // how near the runs have come to each
)

// low is the label that nothing is hidden under.
func (t *thread) mutLow() label.ID {
	return t.tab.Intern(label.New(label.User, label.Public(), nil))
}

// without notes that mutant n would leave out l, of which kept says all or nothing.
func (t *thread) mutWithout(n int, l, kept label.ID) {
	if mutNow != 0 || mutNear[n] == nearLive {
		return
	}
	near := nearRun
	if !t.tab.Flows(l, t.mutLow()) {
		near = nearMet
		if !t.tab.Flows(l, kept) {
			near = nearLive
		}
	}
	mutNear[n] = max(mutNear[n], uint8(near))
}

// mutMet is mutWithout where what is left is not known.
func mutMet(n int, live bool) {
	near := nearRun
	if live {
		near = nearLive
	}
	mutNear[n] = max(mutNear[n], uint8(near))
}

func mutStatement(n int) bool {
	mutMet(n, true)
	return mutNow != n
}

func mutLabel(n int, instead, l label.ID) label.ID {
	mutMet(n, instead.Class() != l.Class())
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
	mutMet(n, true)
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
	mutMet(n, true)
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

func (t *thread) mutChange(n int, st *label.ID) label.ID {
	t.mutWithout(n, t.pc, *st)
	if mutNow == n {
		return t.pc
	}
	return t.change(st)
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
	mutMet(n, v.lab.Class() != l.Class())
	if mutNow == n {
		return v
	}
	return v.with(l)
}

func mutTableJoin(n int, t *label.Table, a, b label.ID) label.ID {
	mutMet(n, !t.Flows(b, a))
	mutMet(n+1, !t.Flows(a, b))
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
	mutMet(n, !ok)
	return mutNow == n || ok
}

func mutControl(n int, t *label.Table, a label.ID) label.ID {
	mutMet(n, a.Class() != label.BottomID.Class())
	if mutNow == n {
		return label.BottomID
	}
	return t.Control(a)
}
`

const mutantHooks = `package eval

func init() { mutants.now, mutants.near = &mutNow, mutNear[:] }
`
