package eval

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Regular expressions are Python's as they are written and RE2's as they run: in time linear in the text. The parser makes
// a tree of a pattern; what cannot be matched in linear time is an error at its position.

// The flags of a pattern, as Python numbers them.
const (
	reIgnoreCase = 2
	reMultiline  = 8
	reDotAll     = 16
	reUnicode    = 32
	reVerbose    = 64
	reASCII      = 256
)

// The most that a pattern may be.
const (
	maxPattern = 32 << 10 // bytes
	maxRegex   = 10_000   // instructions
	maxGroups  = 500
	maxNested  = 200
)

// patternError is what is wrong with a pattern, and what to write instead.
type patternError struct {
	text string
	at   int
	hint string
}

type regexOp uint8

const (
	opEmpty regexOp = iota
	opSet           // a character of a set
	opText          // these bytes
	opCat
	opAlt
	opRepeat // from min to max times, without end if max is negative
	opGroup
	opAssert
)

// assertions are about a position.
type assertion uint8

const (
	atBegin     assertion = iota // \A, and ^ without the flag M
	atEnd                        // \Z
	atLastLine                   // $ without the flag M: the end, or before a line feed there
	atLineBegin                  // ^ with it
	atLineEnd                    // $ with it
	atWord                       // \b
	atNoWord                     // \B
	atWordASCII
	atNoWordASCII
)

// regexNode is a part of a pattern.
type regexNode struct {
	op       regexOp
	set      *charset
	text     string
	subs     []*regexNode
	min, max int
	lazy     bool
	group    int
	assert   assertion
}

// nullable reports whether a part may match nothing.
func (n *regexNode) nullable() bool {
	switch n.op {
	case opSet, opText:
		return false
	case opGroup:
		return n.subs[0].nullable()
	case opRepeat:
		return n.min == 0 || n.subs[0].nullable()
	case opCat:
		for _, s := range n.subs {
			if !s.nullable() {
				return false
			}
		}
		return true
	case opAlt:
		for _, s := range n.subs {
			if s.nullable() {
				return true
			}
		}
		return false
	}
	return true
}

// charset is a set of characters.
type charset struct {
	ascii  [utf8.RuneSelf]bool
	ranges []rune // pairs, above ASCII
	tables []func(r rune) bool
	neg    bool // for what is above ASCII: ascii has it applied
	fold   bool
}

func (c *charset) has(r rune) bool {
	if r < utf8.RuneSelf && r >= 0 {
		return c.ascii[r]
	}
	found := c.other(r)
	if c.fold && !found {
		for f := unicode.SimpleFold(r); f != r && !found; f = unicode.SimpleFold(f) {
			found = c.other(f) || f < utf8.RuneSelf && c.ascii[f] != c.neg
		}
	}
	return found != c.neg
}

func (c *charset) other(r rune) bool {
	for i := 0; i < len(c.ranges); i += 2 {
		if c.ranges[i] <= r && r <= c.ranges[i+1] {
			return true
		}
	}
	for _, f := range c.tables {
		if f(r) {
			return true
		}
	}
	return false
}

func (c *charset) add(lo, hi rune) {
	for r := lo; r <= hi && r < utf8.RuneSelf; r++ {
		c.ascii[r] = true
	}
	if hi >= utf8.RuneSelf {
		c.ranges = append(c.ranges, max(lo, utf8.RuneSelf), hi)
	}
}

func (c *charset) table(f func(r rune) bool) {
	for r := range rune(utf8.RuneSelf) {
		if f(r) {
			c.ascii[r] = true
		}
	}
	c.tables = append(c.tables, f)
}

// done applies what holds for the whole set.
func (c *charset) done(fold, neg bool) *charset {
	if fold {
		c.fold = true
		was := c.ascii
		for r := range rune(utf8.RuneSelf) {
			for f := unicode.SimpleFold(r); f != r && !c.ascii[r]; f = unicode.SimpleFold(f) {
				c.ascii[r] = f < utf8.RuneSelf && was[f] || f >= utf8.RuneSelf && c.other(f)
			}
		}
	}
	if neg {
		c.neg = true
		for r := range c.ascii {
			c.ascii[r] = !c.ascii[r]
		}
	}
	return c
}

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

func isSpaceRune(r rune) bool {
	return r >= '\t' && r <= '\r' || r >= 0x1c && r <= ' ' || r == 0x85 || r > 0x7f && unicode.Is(unicode.Z, r)
}

func isDigitRune(r rune) bool { return r >= '0' && r <= '9' || r > 0x7f && unicode.Is(unicode.Nd, r) }

// classTest returns the test of \w, \d or \s, or of what none of it is.
func classTest(c byte, ascii bool) func(r rune) bool {
	var f func(r rune) bool
	switch c | 0x20 {
	case 'w':
		f = isWordRune
	case 'd':
		f = isDigitRune
	case 's':
		f = isSpaceRune
	}
	is := f
	if ascii {
		is = func(r rune) bool { return r < utf8.RuneSelf && f(r) && (r < 0x1c || r >= ' ') }
	}
	if c < 'a' {
		return func(r rune) bool { return !is(r) }
	}
	return is
}

// regexParser parses a pattern.
type regexParser struct {
	s      string
	i      int
	flags  int
	depth  int
	groups int
	names  []string // of groups; "" for one without
	order  []int    // groups in the order in which they close
}

func (p *regexParser) fail(at int, hint, format string, args ...any) {
	panic(&patternError{fmt.Sprintf(format, args...), at, hint})
}

// parseRegex parses a pattern under flags.
func parseRegex(s string, flags int) (n *regexNode, p *regexParser, err *patternError) {
	p = &regexParser{s: s, flags: flags, names: []string{""}}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*patternError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	if len(s) > maxPattern {
		p.fail(0, "", "a pattern of %d bytes, the longest has %d", len(s), maxPattern)
	}
	n = p.alt()
	if p.i < len(s) {
		p.fail(p.i, `write \) for a parenthesis in the text`, "unbalanced parenthesis")
	}
	return n, p, nil
}

func (p *regexParser) more() bool { return p.i < len(p.s) }

func (p *regexParser) at(s string) bool { return strings.HasPrefix(p.s[p.i:], s) }

// skip passes over what does not count in a verbose pattern.
func (p *regexParser) skip() {
	for p.flags&reVerbose != 0 && p.more() {
		switch c := p.s[p.i]; {
		case c == '#':
			i := strings.IndexByte(p.s[p.i:], '\n')
			if i < 0 {
				p.i = len(p.s)
				return
			}
			p.i += i + 1
		case c == ' ' || c >= '\t' && c <= '\r':
			p.i++
		default:
			return
		}
	}
}

func (p *regexParser) alt() *regexNode {
	if p.depth++; p.depth > maxNested {
		p.fail(p.i, "", "groups nested more than %d deep", maxNested)
	}
	defer func() { p.depth-- }()
	out := []*regexNode{p.cat()}
	for p.more() && p.s[p.i] == '|' {
		p.i++
		out = append(out, p.cat())
	}
	if len(out) == 1 {
		return out[0]
	}
	return &regexNode{op: opAlt, subs: out}
}

func (p *regexParser) cat() *regexNode {
	n := &regexNode{op: opCat}
	for {
		p.skip()
		if !p.more() || p.s[p.i] == '|' || p.s[p.i] == ')' {
			return n
		}
		at := p.i
		item := p.item()
		if item == nil {
			continue
		}
		item = p.repeats(item, at)
		if last := len(n.subs) - 1; item.op == opText && last >= 0 && n.subs[last].op == opText {
			n.subs[last] = &regexNode{op: opText, text: n.subs[last].text + item.text}
			continue
		}
		n.subs = append(n.subs, item)
	}
}

// repeats parses the quantifier of an item, if there is one.
func (p *regexParser) repeats(item *regexNode, start int) *regexNode {
	for times := 0; ; times++ {
		p.skip()
		at := p.i
		low, high, ok := p.quantifier()
		if !ok {
			return item
		}
		if times > 0 {
			p.fail(at, "put what is repeated in a group, (?:…)", "multiple repeat")
		}
		if item.op == opAssert || item.op == opEmpty {
			p.fail(at, "", "nothing to repeat")
		}
		if high >= 0 && low > high {
			p.fail(at, "", "min repeat greater than max repeat")
		}
		n := &regexNode{op: opRepeat, min: low, max: high}
		if p.more() {
			switch p.s[p.i] {
			case '?':
				n.lazy = true
				p.i++
			case '+':
				p.fail(p.i, "leave the + out: without going back the rest is matched all the same, or not at all", "a possessive quantifier")
			}
		}
		n.subs = []*regexNode{item}
		item = n
	}
}

func (p *regexParser) quantifier() (low, high int, ok bool) {
	if !p.more() {
		return 0, 0, false
	}
	switch p.s[p.i] {
	case '*':
		p.i++
		return 0, -1, true
	case '+':
		p.i++
		return 1, -1, true
	case '?':
		p.i++
		return 0, 1, true
	case '{':
		i := p.i + 1
		number := func() int {
			n, any := 0, false
			for i < len(p.s) && p.s[i] >= '0' && p.s[i] <= '9' {
				n, any = min(n*10+int(p.s[i]-'0'), 1<<20), true
				i++
			}
			if !any {
				return -1
			}
			return n
		}
		low := number()
		high := low
		if i < len(p.s) && p.s[i] == ',' {
			i++
			if high = number(); low < 0 && high < 0 {
				return 0, 0, false
			}
			low = max(low, 0)
		}
		if low < 0 || i >= len(p.s) || p.s[i] != '}' {
			return 0, 0, false
		}
		if low > maxRegex || high > maxRegex {
			p.fail(p.i, "", "a repetition of more than %d", maxRegex)
		}
		p.i = i + 1
		return low, high, true
	}
	return 0, 0, false
}

func (p *regexParser) assert(a assertion) *regexNode { return &regexNode{op: opAssert, assert: a} }

// item parses what may be repeated; nil is what matches nothing and may not, as a comment.
func (p *regexParser) item() *regexNode {
	at := p.i
	switch c := p.s[p.i]; c {
	case '(':
		return p.group()
	case '[':
		return p.brackets()
	case '.':
		p.i++
		set := &charset{}
		if p.flags&reDotAll == 0 {
			set.add('\n', '\n')
		}
		return &regexNode{op: opSet, set: set.done(false, true)}
	case '^':
		p.i++
		if p.flags&reMultiline != 0 {
			return p.assert(atLineBegin)
		}
		return p.assert(atBegin)
	case '$':
		p.i++
		if p.flags&reMultiline != 0 {
			return p.assert(atLineEnd)
		}
		return p.assert(atLastLine)
	case '*', '+', '?':
		p.fail(at, `write \`+string(c)+` for the character itself`, "nothing to repeat")
	case '{':
		if _, _, ok := p.quantifier(); ok {
			p.fail(at, `write \{ for the character itself`, "nothing to repeat")
		}
	case '\\':
		return p.escape()
	}
	r, w := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += w
	if r == utf8.RuneError && w == 1 {
		p.fail(at, "", "a byte that is no UTF-8")
	}
	return p.char(r)
}

// char is one character, in either case if that does not count.
func (p *regexParser) char(r rune) *regexNode {
	if p.flags&reIgnoreCase != 0 && unicode.SimpleFold(r) != r {
		set := &charset{}
		set.add(r, r)
		return &regexNode{op: opSet, set: set.done(true, false)}
	}
	return &regexNode{op: opText, text: string(r)}
}

// escape parses what follows a backslash outside of brackets.
func (p *regexParser) escape() *regexNode {
	at := p.i
	if p.i+1 >= len(p.s) {
		p.fail(at, `write \\ for a backslash`, "bad escape (end of pattern)")
	}
	ascii := p.flags&reASCII != 0
	switch c := p.s[p.i+1]; c {
	case 'A', 'Z', 'b', 'B':
		p.i += 2
		switch {
		case c == 'A':
			return p.assert(atBegin)
		case c == 'Z':
			return p.assert(atEnd)
		case c == 'b' && ascii:
			return p.assert(atWordASCII)
		case c == 'b':
			return p.assert(atWord)
		case ascii:
			return p.assert(atNoWordASCII)
		}
		return p.assert(atNoWord)
	case 'd', 'D', 'w', 'W', 's', 'S':
		p.i += 2
		set := &charset{}
		set.table(classTest(c, ascii))
		return &regexNode{op: opSet, set: set.done(false, false)}
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.fail(at, "compare in the program: take both groups and test whether they are equal", `a reference to a group, \%c`, c)
	}
	return p.char(p.escaped())
}

// escaped parses an escape that stands for one character.
func (p *regexParser) escaped() rune {
	at := p.i
	p.i++
	if !p.more() {
		p.fail(at, `write \\ for a backslash`, "bad escape (end of pattern)")
	}
	r, w := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += w
	digits := func(n int) rune {
		if p.i+n > len(p.s) {
			p.fail(at, "", "incomplete escape %s", p.s[at:])
		}
		v := rune(0)
		for _, d := range []byte(p.s[p.i : p.i+n]) {
			x := strings.IndexByte("0123456789abcdef", d|0x20)
			if d < 'A' {
				x = strings.IndexByte("0123456789", d)
			}
			if x < 0 {
				p.fail(at, "", "incomplete escape %s", p.s[at:p.i])
			}
			v = v<<4 | rune(x)
		}
		p.i += n
		if v > unicode.MaxRune {
			p.fail(at, "", "bad escape %s", p.s[at:p.i])
		}
		return v
	}
	switch r {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	case 'a':
		return '\a'
	case 'x':
		return digits(2)
	case 'u':
		return digits(4)
	case 'U':
		return digits(8)
	case '0':
		v := rune(0)
		for n := 0; n < 2 && p.more() && p.s[p.i] >= '0' && p.s[p.i] <= '7'; n++ {
			v = v<<3 | rune(p.s[p.i]-'0')
			p.i++
		}
		return v
	}
	if r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
		p.fail(at, "", `bad escape \%c`, r)
	}
	return r
}

// brackets parses a set.
func (p *regexParser) brackets() *regexNode {
	start := p.i
	p.i++
	neg := p.more() && p.s[p.i] == '^'
	if neg {
		p.i++
	}
	set := &charset{}
	// one parses a member: a character, or a class, for which ok is false.
	one := func() (r rune, ok bool) {
		at := p.i
		if p.s[p.i] == '\\' && p.i+1 < len(p.s) {
			switch c := p.s[p.i+1]; c {
			case 'd', 'D', 'w', 'W', 's', 'S':
				p.i += 2
				set.table(classTest(c, p.flags&reASCII != 0))
				return 0, false
			case 'b':
				p.i += 2
				return '\b', true
			case '1', '2', '3', '4', '5', '6', '7':
				v := rune(0)
				for p.i++; p.more() && p.i < at+4 && p.s[p.i] >= '0' && p.s[p.i] <= '7'; p.i++ {
					v = v<<3 | rune(p.s[p.i]-'0')
				}
				return v, true
			}
			return p.escaped(), true
		}
		r, w := utf8.DecodeRuneInString(p.s[p.i:])
		if r == utf8.RuneError && w == 1 {
			p.fail(at, "", "a byte that is no UTF-8")
		}
		p.i += w
		return r, true
	}
	for first := true; ; first = false {
		if !p.more() {
			p.fail(start, `write \[ for a bracket in the text`, "unterminated character set")
		}
		if p.s[p.i] == ']' && !first {
			p.i++
			break
		}
		at := p.i
		lo, ok := one()
		hi := lo
		if p.i+1 < len(p.s) && p.s[p.i] == '-' && p.s[p.i+1] != ']' {
			p.i++
			to, single := one()
			if !ok || !single || to < lo {
				p.fail(at, "", "bad character range %s", p.s[at:p.i])
			}
			hi = to
		}
		if ok {
			set.add(lo, hi)
		}
		if len(set.ranges) > 2000 {
			p.fail(start, "", "a set of more than 1000 ranges")
		}
	}
	return &regexNode{op: opSet, set: set.done(p.flags&reIgnoreCase != 0, neg)}
}

// group parses what begins with a parenthesis.
func (p *regexParser) group() *regexNode {
	start := p.i
	p.i++
	if !p.at("?") {
		return p.capture("", start)
	}
	p.i++
	for _, not := range []struct{ at, what, hint string }{
		{"=", "a lookahead", "match what follows too, in the pattern, and take a group of the part before it"},
		{"!", "a negative lookahead", "test the match in the program: if m and not …"},
		{"<=", "a lookbehind", "match what is before too, and take a group of the part after it"},
		{"<!", "a negative lookbehind", "test what is before the match in the program: s[:m.start()]"},
		{"P=", "a reference to a group", "compare in the program: take both groups and test whether they are equal"},
		{"(", "a condition on a group", "write both as alternatives, a|b"},
		{">", "an atomic group", "write (?:…)"},
	} {
		if p.at(not.at) {
			p.fail(start, not.hint, "%s", not.what)
		}
	}
	switch {
	case p.at("#"):
		i := strings.IndexByte(p.s[p.i:], ')')
		if i < 0 {
			p.fail(start, "", "missing ), unterminated comment")
		}
		p.i += i + 1
		return nil
	case p.at(":"):
		p.i++
		return p.inner(start, p.flags)
	case p.at("P<"):
		p.i += 2
		i := strings.IndexByte(p.s[p.i:], '>')
		if i < 0 {
			p.fail(p.i, "", "missing >, unterminated name")
		}
		name := p.s[p.i : p.i+i]
		if !isName(name) {
			p.fail(p.i, "", "bad character in group name %s", quote(clip(name), false))
		}
		for g, have := range p.names {
			if have == name {
				p.fail(p.i, "give it another name", "redefinition of group name %s, which is group %d", quote(clip(name), false), g)
			}
		}
		p.i += i + 1
		return p.capture(name, start)
	}
	return p.inline(start)
}

// inline parses the flags of a group, or of the whole pattern.
func (p *regexParser) inline(start int) *regexNode {
	flags, on := p.flags, true
	for ; p.more(); p.i++ {
		c := p.s[p.i]
		if i := strings.IndexByte("imsxau", c); i >= 0 {
			f := []int{reIgnoreCase, reMultiline, reDotAll, reVerbose, reASCII, reUnicode}[i]
			switch {
			case !on:
				flags &^= f
			case f == reUnicode:
				flags &^= reASCII
			default:
				flags |= f
			}
			continue
		}
		switch c {
		case '-':
			on = false
			continue
		case ':':
			p.i++
			return p.inner(start, flags)
		case ')':
			if start != 0 {
				p.fail(start, "write them at the start, or for a part alone, (?i:…)", "global flags not at the start of the expression")
			}
			p.i++
			p.flags = flags
			return nil
		}
		p.fail(start, "", "unknown extension %s", p.s[start:p.i+1])
	}
	p.fail(start, "", "missing ), unterminated subpattern")
	return nil
}

// inner parses the rest of a group that is not captured.
func (p *regexParser) inner(start, flags int) *regexNode {
	saved := p.flags
	p.flags = flags
	n := p.alt()
	p.flags = saved
	p.close(start)
	return &regexNode{op: opCat, subs: []*regexNode{n}}
}

func (p *regexParser) capture(name string, start int) *regexNode {
	if p.groups++; p.groups > maxGroups {
		p.fail(start, "write (?:…) for a group that is not captured", "more than %d groups", maxGroups)
	}
	g := p.groups
	p.names = append(p.names, name)
	n := p.alt()
	p.close(start)
	p.order = append(p.order, g)
	return &regexNode{op: opGroup, subs: []*regexNode{n}, group: g}
}

func (p *regexParser) close(start int) {
	if !p.more() {
		p.fail(start, `write \( for a parenthesis in the text`, "missing ), unterminated subpattern")
	}
	p.i++
}
