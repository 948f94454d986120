package eval

import (
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// regex is a compiled regular expression. It never changes, and sessions share it.
type regex struct {
	text   string
	flags  int
	prog   []regexInst
	memos  int // how many instructions remember where they have failed
	groups int
	names  []string // of groups, from 0
	closes []int    // when a group closes, among all
	prefix string   // every match begins with it
	first  *[256]bool
	start  bool // a match begins at the beginning of the text alone
	bytes  int64
}

type instOp uint8

const (
	iSet    instOp = iota // a character of the set
	iText                 // these bytes
	iSplit                // out, and if that fails arg
	iSpan                 // as many characters of the set as there are, and if that fails fewer
	iSave                 // the position is that of a group's beginning or end
	iAssert               // about the position
	iMatch
)

// regexInst is an instruction: what must hold, and where to go on.
type regexInst struct {
	op       instOp
	assert   assertion
	inLoop   bool // it may come again before it has failed
	out, arg int32
	memo     int32
	set      *charset
	text     string
}

// regexCompiler makes instructions of a tree.
type regexCompiler struct {
	re    *regex
	loops int
}

// compileRegex compiles a pattern.
func compileRegex(s string, flags int) (re *regex, err *patternError) {
	n, p, err := parseRegex(s, flags)
	if err != nil {
		return nil, err
	}
	if p.flags&reASCII == 0 {
		p.flags |= reUnicode
	}
	re = &regex{text: strings.Clone(s), flags: p.flags, groups: p.groups, names: p.names, closes: make([]int, p.groups+1)}
	for i, g := range p.order {
		re.closes[g] = i
	}
	for i := range re.names {
		re.names[i] = strings.Clone(re.names[i])
	}
	c := &regexCompiler{re: re}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*patternError)
			if !ok {
				panic(r)
			}
			re, err = nil, e
		}
	}()
	end := c.emit(regexInst{op: iMatch})
	begin := c.compile(n, end)
	c.emit(regexInst{op: iText, out: begin}) // where it begins: the last instruction
	re.prefix = re.literal(begin)
	at := begin
	for re.prog[at].op == iSave {
		at = re.prog[at].out
	}
	re.start = re.prog[at].op == iAssert && re.prog[at].assert == atBegin
	var first [256]bool
	if re.firsts(begin, &first, make([]bool, len(re.prog))) {
		re.first = &first
	}
	re.bytes = int64(unsafe.Sizeof(regex{})) + 400 + int64(len(s)) + int64(cap(re.prog))*int64(unsafe.Sizeof(regexInst{})) + int64(p.groups)*32
	seen := map[*charset]bool{}
	for _, in := range re.prog {
		if in.set != nil && !seen[in.set] {
			seen[in.set] = true
			re.bytes += int64(unsafe.Sizeof(charset{})) + 64 + int64(len(in.set.ranges))*8
		}
	}
	return re, nil
}

func (c *regexCompiler) emit(in regexInst) int32 {
	if len(c.re.prog) >= maxRegex {
		panic(&patternError{text: "the pattern is too large: repetitions of repetitions multiply", hint: "repeat less, and count in the program"})
	}
	if in.op == iSplit || in.op == iSpan {
		in.memo, in.inLoop = int32(c.re.memos), in.inLoop || c.loops > 0
		c.re.memos++
	}
	c.re.prog = append(c.re.prog, in)
	return int32(len(c.re.prog) - 1)
}

// compile emits what matches n and goes on at out; it returns where that begins.
func (c *regexCompiler) compile(n *regexNode, out int32) int32 {
	switch n.op {
	case opSet:
		return c.emit(regexInst{op: iSet, set: n.set, out: out})
	case opText:
		return c.emit(regexInst{op: iText, text: n.text, out: out})
	case opAssert:
		return c.emit(regexInst{op: iAssert, assert: n.assert, out: out})
	case opGroup:
		out = c.emit(regexInst{op: iSave, arg: int32(2*n.group + 1), out: out})
		out = c.compile(n.subs[0], out)
		return c.emit(regexInst{op: iSave, arg: int32(2 * n.group), out: out})
	case opCat:
		for i := len(n.subs) - 1; i >= 0; i-- {
			out = c.compile(n.subs[i], out)
		}
		return out
	case opAlt:
		next := c.compile(n.subs[len(n.subs)-1], out)
		for i := len(n.subs) - 2; i >= 0; i-- {
			next = c.emit(regexInst{op: iSplit, out: c.compile(n.subs[i], out), arg: next})
		}
		return next
	case opRepeat:
		return c.repeat(n, out)
	}
	return out
}

func (c *regexCompiler) split(lazy bool, body, out int32) regexInst {
	if lazy {
		body, out = out, body
	}
	return regexInst{op: iSplit, out: body, arg: out}
}

func (c *regexCompiler) repeat(n *regexNode, out int32) int32 {
	body := n.subs[0]
	switch {
	case n.max < 0 && !n.lazy && body.single() != nil:
		out = c.emit(regexInst{op: iSpan, set: body.single(), out: out})
	case n.max < 0 && body.nullable() && n.min == 0:
		// Where an iteration may match nothing, one is made all the same: (x+)? for x*.
		plus := *n
		plus.min = 1
		return c.emit(c.split(n.lazy, c.repeat(&plus, out), out))
	case n.max < 0:
		c.loops++
		loop := c.emit(regexInst{op: iSplit, inLoop: true})
		again := c.compile(body, loop)
		c.loops--
		in := c.split(n.lazy, again, out)
		c.re.prog[loop].out, c.re.prog[loop].arg = in.out, in.arg
		if out = loop; n.min > 0 {
			out = again
			for range n.min - 1 {
				out = c.compile(body, out)
			}
			return out
		}
	default:
		end := out
		for range n.max - n.min {
			out = c.emit(c.split(n.lazy, c.compile(body, out), end))
		}
	}
	for range n.min {
		out = c.compile(body, out)
	}
	return out
}

// single returns the set of a part that is one character; nil if it is anything else.
func (n *regexNode) single() *charset {
	switch {
	case n.op == opSet:
		return n.set
	case n.op == opCat && len(n.subs) == 1:
		return n.subs[0].single()
	case n.op == opText && utf8.RuneCountInString(n.text) == 1:
		r, _ := utf8.DecodeRuneInString(n.text)
		set := &charset{}
		set.add(r, r)
		return set
	}
	return nil
}

// literal returns the bytes that every match begins with.
func (re *regex) literal(at int32) string {
	for {
		switch in := &re.prog[at]; in.op {
		case iSave:
			at = in.out
		case iText:
			return in.text
		default:
			return ""
		}
	}
}

// firsts sets the bytes that a match may begin with; it reports whether that is known.
func (re *regex) firsts(at int32, first *[256]bool, seen []bool) bool {
	for !seen[at] {
		seen[at] = true
		switch in := &re.prog[at]; in.op {
		case iText:
			if in.text != "" {
				first[in.text[0]] = true
				return true
			}
			at = in.out
		case iSet, iSpan:
			for b := range 256 {
				if b >= utf8.RuneSelf || in.set.ascii[b] {
					first[b] = true
				}
			}
			if in.op == iSet {
				return true
			}
			at = in.out
		case iSplit:
			if !re.firsts(in.out, first, seen) {
				return false
			}
			at = in.arg
		case iSave, iAssert:
			at = in.out
		case iMatch:
			return false
		}
	}
	return true
}

// matcher looks for matches in a text. It goes on at the first alternative, and comes back to the others when that fails; what has
// failed at a position is remembered, so that it is not tried twice: the time is linear in text and pattern.
type matcher struct {
	t     *thread
	re    *regex
	s     string
	caps  []int
	stack []retreat
	full  bool // a match ends at the end of the text
	must  int  // a match that begins here is not empty; -1 if any may be
	fuel  int

	// Bit (position - base) * memos + memo says that an instruction has failed there, or is being tried.
	marks  []uint64
	base   int
	marked int  // no bit is set for positions from here on
	tried  bool // bits may be set of what has not failed
}

// retreat is where to come back to when what was tried has failed.
type retreat struct {
	inst int32 // negative: put a position of a group back
	pos  int   // for a span, the last position to go on from
	low  int   // for a span, the first; else what the group had
}

const (
	fuelPiece   = 2048 // instructions between two looks at the budget
	matchStep   = 4    // instructions for a step
	retreatSize = 24
)

// newMatcher makes a matcher for the text s.
func (t *thread) newMatcher(re *regex, s string) *matcher {
	m := t.matcher
	if t.matcher = nil; m == nil {
		m = &matcher{}
	}
	m.t, m.re, m.s, m.must, m.fuel = t, re, s, -1, fuelPiece
	m.stack, m.marks, m.base, m.marked, m.tried, m.full = m.stack[:0], m.marks[:0], 0, 0, false, false
	n := 2 * (re.groups + 1)
	if cap(m.caps) < n {
		m.caps = make([]int, n)
	}
	m.caps = m.caps[:n]
	return m
}

// done gives back what a large text took.
func (m *matcher) done() {
	t := m.t
	m.s, m.re, m.t = "", nil, nil
	t.burn(int64(fuelPiece-m.fuel) / matchStep)
	if cap(m.marks) > 4<<10 {
		m.marks = nil
	}
	if cap(m.stack) > 1<<10 {
		m.stack = nil
	}
	t.matcher = m
}

// pay charges for what was done.
func (m *matcher) pay() {
	m.t.burn(int64(fuelPiece-m.fuel) / matchStep)
	m.fuel = fuelPiece
}

// find looks for the first match that begins at from or later. Its positions are in caps.
func (m *matcher) find(from int) bool {
	re := m.re
	for at := from; at <= len(m.s); at++ {
		if re.start && at > 0 {
			return false
		}
		switch {
		case re.prefix != "":
			i := m.t.indexOf(m.s[at:], re.prefix)
			if i < 0 {
				return false
			}
			at += i
		case re.first != nil:
			first := re.first
			for at < len(m.s) && !first[m.s[at]] {
				end := min(len(m.s), at+8*fuelPiece)
				before := at
				for at < end && !first[m.s[at]] {
					at++
				}
				m.fuel -= (at - before) / 4
				if m.fuel < 0 {
					m.pay()
				}
			}
			if at == len(m.s) {
				return false
			}
		}
		if m.run(at) {
			return true
		}
		if at < len(m.s) && m.s[at] >= utf8.RuneSelf {
			_, w := utf8.DecodeRuneInString(m.s[at:])
			at += w - 1
		}
	}
	return false
}

// run tries to match at a position.
func (m *matcher) run(pos int) bool {
	re, s := m.re, m.s
	for i := range m.caps {
		m.caps[i] = -1
	}
	begin := pos
	m.caps[0] = pos
	m.stack = m.stack[:0]
	if m.marked <= pos {
		m.forget(pos)
	} else if pos-m.base > max(1<<14, (m.marked-m.base)/2) {
		m.slide(pos)
	}
	at := re.prog[len(re.prog)-1].out
	for {
		if m.fuel--; m.fuel < 0 {
			m.pay()
		}
		in := &re.prog[at]
		switch in.op {
		case iSet:
			if pos < len(s) {
				if c := s[pos]; c < utf8.RuneSelf {
					if in.set.ascii[c] {
						pos++
						at = in.out
						continue
					}
				} else if r, w := utf8.DecodeRuneInString(s[pos:]); in.set.has(r) {
					pos += w
					at = in.out
					continue
				}
			}
		case iText:
			if strings.HasPrefix(s[pos:], in.text) {
				m.fuel -= len(in.text) / 16
				pos += len(in.text)
				at = in.out
				continue
			}
		case iSave:
			m.push(retreat{^in.arg, 0, m.caps[in.arg]})
			m.caps[in.arg] = pos
			at = in.out
			continue
		case iAssert:
			if holds(in.assert, s, pos) {
				at = in.out
				continue
			}
		case iSplit:
			if m.seen(in.memo, pos) {
				break
			}
			if in.inLoop {
				m.mark(in.memo, pos)
				m.tried = true
			}
			m.push(retreat{at, pos, 0})
			at = in.out
			continue
		case iSpan:
			if m.seen(in.memo, pos) {
				break
			}
			end := m.span(in, pos)
			if end > pos || in.inLoop {
				m.push(retreat{at, end, pos})
			}
			pos = end
			at = in.out
			continue
		case iMatch:
			if (!m.full || pos == len(s)) && !(begin == m.must && pos == begin) {
				m.caps[1] = pos
				if m.tried { // what was being tried has not failed
					m.forget(m.base)
				}
				return true
			}
		}
		var ok bool
		if at, pos, ok = m.retreat(); !ok {
			return false
		}
	}
}

// span returns where the characters of a span end that begin at pos, or where it has failed before.
func (m *matcher) span(in *regexInst, pos int) int {
	s, set, from, pay := m.s, in.set, pos, pos+8*fuelPiece
	looked := pos < m.marked || in.inLoop
	for pos < len(s) {
		if looked && pos > from && m.seen(in.memo, pos) {
			break
		}
		if c := s[pos]; c < utf8.RuneSelf {
			if !set.ascii[c] {
				break
			}
			pos++
		} else {
			r, w := utf8.DecodeRuneInString(s[pos:])
			if !set.has(r) {
				break
			}
			pos += w
		}
		if pos >= pay {
			m.fuel -= 2 * fuelPiece
			m.pay()
			pay += 8 * fuelPiece
		}
	}
	if in.inLoop {
		for p := from; p <= pos; p++ {
			m.mark(in.memo, p)
			if (p-from)%fuelPiece == fuelPiece-1 {
				m.fuel -= fuelPiece
				m.pay()
			}
		}
		m.tried = true
	}
	m.fuel -= (pos - from) % (8 * fuelPiece) / 4
	return pos
}

// retreat goes back to what has not been tried yet.
func (m *matcher) retreat() (at int32, pos int, ok bool) {
	for len(m.stack) > 0 {
		top := &m.stack[len(m.stack)-1]
		if top.inst < 0 {
			m.caps[^top.inst] = top.low
			m.stack = m.stack[:len(m.stack)-1]
			continue
		}
		in := &m.re.prog[top.inst]
		if in.op == iSplit {
			pos = top.pos
			m.stack = m.stack[:len(m.stack)-1]
			if !in.inLoop {
				m.mark(in.memo, pos)
				m.tried = true
			}
			return in.arg, pos, true
		}
		// The span has failed from its last position on: try one character fewer.
		if !in.inLoop {
			m.mark(in.memo, top.pos)
		}
		if top.pos <= top.low {
			m.stack = m.stack[:len(m.stack)-1]
			continue
		}
		if m.s[top.pos-1] < utf8.RuneSelf {
			top.pos--
		} else {
			_, w := utf8.DecodeLastRuneInString(m.s[:top.pos])
			top.pos -= w
		}
		return in.out, top.pos, true
	}
	return 0, 0, false
}

func (m *matcher) push(r retreat) {
	if len(m.stack) == cap(m.stack) {
		n := roomFor(len(m.stack)+1, cap(m.stack), retreatSize)
		m.t.alloc(blockSize(int64(n) * retreatSize))
		stack := make([]retreat, len(m.stack), n)
		copy(stack, m.stack)
		m.t.free(blockSize(int64(cap(m.stack)) * retreatSize))
		m.t.poll()
		m.stack = stack
	}
	m.stack = append(m.stack, r)
}

// seen reports whether an instruction has failed at a position, or is being tried there.
func (m *matcher) seen(memo int32, pos int) bool {
	if pos >= m.marked {
		return false
	}
	bit := (pos-m.base)*m.re.memos + int(memo)
	return m.marks[bit/64]>>(bit%64)&1 != 0
}

// mark remembers it.
func (m *matcher) mark(memo int32, pos int) {
	bit := (pos-m.base)*m.re.memos + int(memo)
	if need := (pos-m.base+1)*m.re.memos/64 + 1; need > len(m.marks) {
		m.grow(need)
	}
	m.marks[bit/64] |= 1 << (bit % 64)
	m.marked = max(m.marked, pos+1)
}

// grow makes room for marks.
func (m *matcher) grow(need int) {
	if need <= cap(m.marks) {
		was := len(m.marks)
		m.marks = m.marks[:min(cap(m.marks), max(need, 2*was))]
		clear(m.marks[was:])
		return
	}
	n := max(need+need/2, 64)
	m.t.alloc(stringSize(int64(n) * 8))
	m.fuel -= n / 16
	marks := make([]uint64, n)
	copy(marks, m.marks)
	m.t.free(stringSize(int64(cap(m.marks)) * 8))
	m.t.poll()
	m.marks = marks
}

// forget forgets all marks, and takes a position for the first.
func (m *matcher) forget(pos int) {
	if m.marked > m.base {
		clear(m.marks[:min(len(m.marks), (m.marked-m.base)*m.re.memos/64+1)])
	}
	m.base, m.marked, m.tried = pos, pos, false
}

// slide forgets what is before a position.
func (m *matcher) slide(pos int) {
	// Words are moved whole.
	step := (pos - m.base) / 64 * 64
	words := step * m.re.memos / 64
	m.fuel -= len(m.marks) / 16
	n := copy(m.marks, m.marks[min(len(m.marks), words):])
	clear(m.marks[n:])
	m.base += step
}

// holds reports whether an assertion is true of a position.
func holds(a assertion, s string, pos int) bool {
	switch a {
	case atBegin:
		return pos == 0
	case atEnd:
		return pos == len(s)
	case atLastLine:
		return pos == len(s) || pos == len(s)-1 && s[pos] == '\n'
	case atLineBegin:
		return pos == 0 || s[pos-1] == '\n'
	case atLineEnd:
		return pos == len(s) || s[pos] == '\n'
	}
	if s == "" { // as in Python
		return false
	}
	ascii := a == atWordASCII || a == atNoWordASCII
	word := func(r rune, w int) bool { return w > 0 && isWordRune(r) && (!ascii || r < utf8.RuneSelf) }
	before := word(utf8.DecodeLastRuneInString(s[:pos]))
	after := word(utf8.DecodeRuneInString(s[pos:]))
	return (before != after) == (a == atWord || a == atWordASCII)
}

// regexes remembers compiled patterns for the whole process. That a pattern is in it changes how long it takes to compile it, and nothing
// else: what is charged is the same.
var regexes struct {
	sync.Mutex
	known map[regexKey]*regex
	order []regexKey
	bytes int64
}

type regexKey struct {
	text  string
	flags int
}

// The most that is remembered.
const (
	maxRegexes    = 256
	maxRegexBytes = 1 << 20
)

// regex compiles a pattern, or takes it from those that are known.
func (t *thread) regex(s string, flags int) (*regex, *patternError) {
	t.burn(4 + int64(len(s))/4)
	key := regexKey{s, flags}
	regexes.Lock()
	re := regexes.known[key]
	regexes.Unlock()
	if re == nil {
		var err *patternError
		if re, err = compileRegex(s, flags); err != nil {
			return nil, err
		}
		regexes.Lock()
		remember(regexKey{re.text, flags}, re)
		regexes.Unlock()
	}
	t.burn(int64(len(re.prog)) / 2)
	t.alloc(re.bytes)
	return re, nil
}

// remember adds a pattern, and forgets those that have been there for longest.
func remember(key regexKey, re *regex) {
	r := &regexes
	if r.known == nil {
		r.known = map[regexKey]*regex{}
	}
	if r.known[key] != nil || re.bytes > maxRegexBytes/8 {
		return
	}
	r.known[key] = re
	r.order = append(r.order, key)
	r.bytes += re.bytes
	for len(r.order) > maxRegexes || r.bytes > maxRegexBytes {
		old := r.order[0]
		r.order = append(r.order[:0], r.order[1:]...)
		r.bytes -= r.known[old].bytes
		delete(r.known, old)
	}
}
