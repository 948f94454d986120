package syntax

import (
	"fmt"
	"slices"
	"sync"

	"go.starlark.net/syntax"
)

// parser is a recursive descent over the tokens of one file.
//
// Errors are of two kinds. A construct that is understood but not allowed is
// reported ([parser.report]) and parsed on, its node being a stand-in: the tree
// is thrown away anyhow. A token that fits nowhere is reported and unwinds the
// parser ([parser.fail]) to the innermost block, which takes up what is left of
// the line ([parser.resync]).
type parser struct {
	src  string
	name *string // of the file
	errs *errorList

	toks  []token
	mends []int32 // before which of them the scanner mended something, rising
	i     int     // the current token
	tok   kind    // its kind

	first  int  // the first token of the line, or of the clause, that is being parsed
	broken bool // the statement before this one failed: a clause of it may follow

	looked int // the line that mended looked at last, by its first token
	found  bool

	switched bool // a switch or match statement was refused
	extended bool // something was parsed that is not Starlark

	pending   syntax.Expr // a generator expression of which it is not known how it is used
	pendingAt int
	loops     int // names that the parser has made up
	lambdas   int // around what is being parsed, and defs likewise
	defs      int
	shared    shared          // of the innermost def
	fields    *classFields    // of the class whose body it is
	typing    map[string]bool // names of the module typing
	handlers  int             // of a try around, in the same function
	vars      bool            // the parenthesis that begins is around variables of a loop

	limits Limits

	depth int // how deep the parser is within the tree
	most  int // the greatest depth allowed
	h     int // the height of the node parsed last

	stack []syntax.Expr // elements of lists that are being parsed
	stmts []syntax.Stmt // statements of blocks that are being parsed

	// Room for nodes of the kinds that are most frequent.
	idents   []syntax.Ident
	lits     []syntax.Literal
	calls    []syntax.CallExpr
	dots     []syntax.DotExpr
	binaries []syntax.BinaryExpr
	indexes  []syntax.IndexExpr
	elems    []syntax.Expr
}

// parsers keeps the memory of stacks, as scanners does that of tokens.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// reset prepares the parser for the tokens of a file. It makes room for the nodes
// that they can become: one allocation for all nodes of a kind, instead of one
// each. Where a token need not become a node, the room is bounded, since all of it
// lives as long as the tree.
func (p *parser) reset(name *string, s *scanner) {
	toks := s.toks
	*p = parser{
		src: s.src, name: name, errs: s.errs, toks: toks, mends: s.mends, tok: toks[0].kind, limits: s.limits, most: s.limits.Depth,
		looked: -1, stack: p.stack[:0], stmts: p.stmts[:0],
	}
	var count [128]int
	binary := 0
	for i := range toks {
		k := toks[i].kind
		count[k]++
		if strengths[k] != 0 || k == syntax.EQ {
			binary++
		}
	}
	const most = 64
	p.idents = make([]syntax.Ident, 0, count[syntax.IDENT])
	p.lits = make([]syntax.Literal, 0, count[syntax.STRING]+count[syntax.INT]+count[syntax.FLOAT]+count[syntax.BYTES])
	p.dots = make([]syntax.DotExpr, 0, count[syntax.DOT])
	p.calls = make([]syntax.CallExpr, 0, min(count[syntax.LPAREN], most))
	p.binaries = make([]syntax.BinaryExpr, 0, min(binary, most))
	p.indexes = make([]syntax.IndexExpr, 0, min(count[syntax.LBRACK], most))
	p.elems = make([]syntax.Expr, 0, min(count[syntax.COMMA]+count[syntax.LPAREN]+count[syntax.LBRACK], 4*most))
}

// release gives the parser's memory back. It keeps no part of the tree.
func (p *parser) release() {
	const most = 1 << 10
	stack, stmts := p.stack[:cap(p.stack)], p.stmts[:cap(p.stmts)]
	if len(stack) > most || len(stmts) > most {
		stack, stmts = nil, nil
	}
	clear(stack)
	clear(stmts)
	*p = parser{stack: stack, stmts: stmts}
	parsers.Put(p)
}

// pos returns the position of token i.
func (p *parser) pos(i int) syntax.Position {
	t := &p.toks[i]
	return syntax.MakePosition(p.name, t.line, t.col)
}

// next moves to the next token, and returns the position of the one it leaves. It stays at EOF.
func (p *parser) next() syntax.Position {
	pos := p.pos(p.i)
	if p.tok != syntax.EOF {
		p.i++
		p.tok = p.toks[p.i].kind
	}
	return pos
}

// peek returns the kind of the token after the current one.
func (p *parser) peek() kind {
	if p.tok == syntax.EOF {
		return syntax.EOF
	}
	return p.toks[p.i+1].kind
}

// text returns the text of the current token.
func (p *parser) text() string {
	t := &p.toks[p.i]
	return p.src[t.off:t.end]
}

// bailout is what the parser panics with after an error that it cannot pass.
type bailout struct{}

// report reports a problem at token i, unless the scanner has reported brackets or
// quotes that do not match on the line: then it may be a consequence of that.
func (p *parser) report(i int, message, hint string) {
	if !p.mended() {
		p.certain(i, message, hint)
	}
}

// mended reports whether the scanner has mended the line that is being parsed.
func (p *parser) mended() bool {
	if len(p.mends) == 0 {
		return false
	}
	if p.looked != p.first { // reading the line once is enough, however many errors are in it
		end := p.i
		for p.toks[end].kind != syntax.NEWLINE && p.toks[end].kind != syntax.EOF {
			end++
		}
		n, _ := slices.BinarySearch(p.mends, int32(p.first))
		p.looked, p.found = p.first, n < len(p.mends) && int(p.mends[n]) <= end
	}
	return p.found
}

// certain reports a problem at token i that has nothing to do with brackets and
// quotes, unless the scanner has said what is wrong there.
func (p *parser) certain(i int, message, hint string) {
	if t := p.toks[i]; t.flag&isKnown == 0 {
		p.errs.add(t.line, t.col, message, hint)
		if p.errs.over {
			panic(stop{})
		}
	}
}

// stop is what the parser panics with to end.
type stop struct{}

// fail reports a problem at the current token, and gives up the line.
func (p *parser) fail(message, hint string) {
	p.report(p.i, message, hint)
	panic(bailout{})
}

// unexpected fails for want of something.
func (p *parser) unexpected(wanted string) {
	t := p.toks[p.i]
	message := "got " + p.describe(t) + ", want " + wanted
	p.fail(message, p.hint())
}

// expect moves past a token of the kind wanted.
func (p *parser) expect(k kind) syntax.Position {
	if p.tok != k {
		p.unexpected(want(k))
	}
	return p.next()
}

// enter and leave bracket a level of recursion.
func (p *parser) enter() {
	if p.depth++; p.depth > p.most {
		p.tooDeep()
	}
}

func (p *parser) leave() { p.depth-- }

// tall notes the height of a node whose highest child has height h.
func (p *parser) tall(h int) {
	if p.h = h + 1; p.h > p.most {
		p.tooDeep()
	}
}

func (p *parser) tooDeep() {
	t := p.toks[p.i]
	p.errs.add(t.line, t.col, fmt.Sprintf("nested too deep: more than %d levels", p.most),
		"assign parts to names, split chains of operators, calls or elif; a dict or list may take their place")
	panic(stop{})
}

// file parses the statements of the file.
func (p *parser) file() (stmts []syntax.Stmt) {
	defer func() {
		switch r := recover().(type) {
		case nil, stop:
		default:
			// A mistake of the parser's must refuse the program, not
			// end the process that runs others.
			t := p.toks[p.i]
			p.errs.add(t.line, t.col, fmt.Sprintf("internal error: %v", r), "write it another way")
		}
	}()
	return p.block()
}

// block parses statements up to the end of a block or of the file.
func (p *parser) block() []syntax.Stmt {
	base, h := len(p.stmts), 0
	for p.tok != syntax.OUTDENT && p.tok != syntax.EOF {
		h = p.attempt(h)
	}
	p.h = h
	return p.takeStmts(base)
}

// attempt parses statements up to the end of the block, or up to and including one that
// fails. It returns the height of the highest, and h at least.
func (p *parser) attempt(h int) (height int) {
	depth, stack, stmts, handlers := p.depth, len(p.stack), len(p.stmts), p.handlers
	height = h
	lambdas := p.lambdas
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailout:
			p.depth, p.stack, p.stmts, p.pending, p.handlers = depth, p.stack[:stack], p.stmts[:stmts], nil, handlers
			p.lambdas = lambdas
			p.resync()
		default:
			panic(r)
		}
	}()
	for p.tok != syntax.OUTDENT && p.tok != syntax.EOF {
		if p.tok == syntax.NEWLINE && (depth == 0 || p.broken) {
			p.next()
			continue
		}
		p.stmt()
		height = max(height, p.h)
	}
	return height
}

// resync takes up what is left of a line that failed at the current token: the
// elements of the brackets around it, whose own errors are independent of that one, and the block that
// may be below it.
func (p *parser) resync() {
	p.broken = true
	var open []kind // of the brackets open at token seen, the closing kinds
	seen := p.first
	for {
		for ; seen < p.i; seen++ {
			open = track(open, p.toks[seen].kind)
		}
		if len(open) == 0 {
			break
		}
		level := len(open)
		for p.tok != syntax.EOF && (len(open) > level || p.tok != syntax.COMMA && p.tok != open[level-1]) {
			open = track(open, p.tok)
			p.next()
			seen = p.i
		}
		if p.tok == syntax.EOF {
			break
		}
		if p.next(); p.toks[p.i-1].kind == syntax.COMMA {
			p.elements(open[level-1])
		}
	}
	for p.tok != syntax.EOF && p.tok != syntax.NEWLINE {
		p.next()
	}
	if p.tok == syntax.NEWLINE {
		p.next()
	}
	if p.tok == syntax.INDENT {
		p.deeper()
		p.broken = true
	}
}

// deeper parses a block that is indented where none should be.
func (p *parser) deeper() {
	p.enter()
	p.next() // INDENT
	p.block()
	p.next() // OUTDENT
	p.leave()
}

// track keeps the brackets that are open.
func track(open []kind, k kind) []kind {
	switch k {
	case syntax.LPAREN:
		return append(open, syntax.RPAREN)
	case syntax.LBRACK:
		return append(open, syntax.RBRACK)
	case syntax.LBRACE:
		return append(open, syntax.RBRACE)
	case syntax.RPAREN, syntax.RBRACK, syntax.RBRACE:
		if len(open) > 0 {
			return open[:len(open)-1]
		}
	}
	return open
}

// elements parses what may stand in brackets, of whichever kind, up to the
// closing one or the next error.
func (p *parser) elements(end kind) {
	depth, stacked, lambdas := p.depth, len(p.stack), p.lambdas
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailout:
			p.depth, p.stack, p.lambdas = depth, p.stack[:stacked], lambdas
		default:
			panic(r)
		}
	}()
	p.enter()
	for p.tok != end {
		for p.tok == syntax.STAR || p.tok == syntax.STARSTAR || p.tok == syntax.COLON || p.tok == syntax.EQ {
			p.next()
		}
		switch p.tok {
		case end:
		case syntax.COMMA:
			p.next()
		case syntax.FOR:
			p.clauses(end)
		default:
			p.test()
			switch p.tok {
			case end, syntax.COMMA, syntax.COLON, syntax.EQ, syntax.FOR:
			default:
				p.separator(end)
			}
		}
	}
	p.leave()
}

// separator is called where a comma or the end of a bracket is wanted. Before something on a
// line of its own it passes a missing comma, having reported it.
func (p *parser) separator(end kind) {
	wanted := "',' or " + want(end)
	if p.i > 0 && p.toks[p.i].line > p.toks[p.i-1].line && startsExpr(p.tok) && p.toks[p.i-1].flag&isKnown == 0 {
		p.report(p.i, "got "+p.describe(p.toks[p.i])+" on a new line, want "+wanted, "add a comma at the end of the line before")
		return
	}
	p.unexpected(wanted)
}

// startsExpr reports whether an expression may begin with a token.
func startsExpr(k kind) bool {
	switch k {
	case syntax.IDENT, syntax.INT, syntax.FLOAT, syntax.STRING, syntax.BYTES, fstring, syntax.LPAREN, syntax.LBRACK, syntax.LBRACE,
		syntax.NOT, syntax.LAMBDA, syntax.MINUS, syntax.PLUS, syntax.TILDE, syntax.LOAD:
		return true
	}
	return false
}

// push adds an element to the list being parsed.
func (p *parser) push(x syntax.Expr) { p.stack = append(p.stack, x) }

// take returns the elements pushed since the stack had n, or nil if there are none.
func (p *parser) take(n int) []syntax.Expr {
	list := p.stack[n:]
	if len(list) == 0 {
		return nil
	}
	if cap(p.elems)-len(p.elems) < len(list) {
		p.elems = make([]syntax.Expr, 0, max(64, len(list)))
	}
	k := len(p.elems)
	p.elems = append(p.elems, list...)
	p.stack = p.stack[:n]
	return p.elems[k:len(p.elems):len(p.elems)]
}

// takeStmts returns the statements parsed since there were n, or nil if there are none.
func (p *parser) takeStmts(n int) []syntax.Stmt {
	list := append([]syntax.Stmt(nil), p.stmts[n:]...)
	p.stmts = p.stmts[:n]
	return list
}

// node returns the address of the next zero node in a room. A room without space is
// left to the nodes in it, and a new one begun.
func node[T any](room *[]T) *T {
	n := len(*room)
	if n == cap(*room) {
		n = 0
		*room = make([]T, 0, 32)
	}
	*room = (*room)[:n+1]
	return &(*room)[n]
}

func (p *parser) newIdent(pos syntax.Position, name string) *syntax.Ident {
	x := node(&p.idents)
	x.NamePos, x.Name = pos, name
	return x
}

func (p *parser) newBinary(x syntax.Expr, pos syntax.Position, op kind, y syntax.Expr) *syntax.BinaryExpr {
	b := node(&p.binaries)
	b.X, b.OpPos, b.Op, b.Y = x, pos, op, y
	return b
}
