package syntax

import (
	"fmt"

	"go.starlark.net/syntax"
)

// refusal is what is said of a construct that is understood and not part of
// the language.
type refusal struct{ message, hint string }

// doubtful are the refusals of what may be an accident of brackets or quotes that do not match.
var doubtful = map[refusal]bool{
	refusedMixture: true, refusedGenerator: true, refusedStar: true, refusedPositionalOnly: true,
}

var (
	refusedTemplate       = refusal{"got a t-string, want an f-string", `write f"…"`}
	refusedMixture        = refusal{"got a string right after another one, one of them bytes, want an operator or ','", "join them with +, or add the comma that is missing"}
	refusedIs             = refusal{"got operator 'is' between two values, want None, True or False on one side", "write x == y for equality, isinstance(x, str) for a type"}
	refusedGenerator      = refusal{"got a generator expression that is no argument, want a list", "write [ and ] around it: a list can be used more than once"}
	refusedBare           = refusal{"got a generator expression beside another argument, want it in parentheses", "write sum((x for x in xs), 1), or [x for x in xs]"}
	refusedDel            = refusal{"got a del of no element, want d[key] or xs[i]", "a name may be set to None"}
	refusedStar           = refusal{"got '*' or '**' before an element, want the element", "in a list or tuple write [*a, b], in a dict {**a, \"k\": b}"}
	refusedYield          = refusal{"got keyword 'yield', want an expression", "build a list, and return it"}
	refusedAwait          = refusal{"got keyword 'await', want an expression", "leave await out: every call waits for its result"}
	refusedEllipsis       = refusal{"got '...', want an expression", "write pass for an empty body, or None for a value"}
	refusedPositionalOnly = refusal{"got '/' as a parameter, want a name", "leave '/' out: every parameter may be given by position"}
	refusedMatch          = refusal{"got a match statement, want if", "write if x == a: … elif x == b: … else: …"}
)

var refusedOperators = map[kind]refusal{
	unequal: {"got operator '<>', want '!='", "write a != b"},
	andAnd:  {"got operator '&&', want 'and'", "write a and b"},
	orOr:    {"got operator '||', want 'or'", "write a or b"},
	bang:    {"got operator '!', want 'not'", "write not x"},
	at:      {"got operator '@', want an operator of the language", "multiply matrices in loops over their rows"},
}

// refusedKeywords says of the words that begin statements of Python alone, what to do instead.
var refusedKeywords = map[kind]refusal{
	syntax.IMPORT:  {"got an import, want no import", "remove it: what a program may use is there without import"},
	syntax.FROM:    {"got an import, want no import", "remove it: what a program may use is there without import"},
	syntax.EXCEPT:  {"got an except clause with no try before it in this block", "indent it like its try"},
	syntax.FINALLY: {"got a finally clause with no try before it in this block", "indent it like its try"},
	syntax.WITH:    {"got a with statement, want a call", "call the function and use its result: nothing needs closing"},
	syntax.ASYNC:   {"got keyword 'async', want a plain def", "leave async and await out: every call waits for its result"},
	syntax.AWAIT:   refusedAwait,
	syntax.YIELD:   refusedYield,
	syntax.DEL:     {"got a del statement, want a call", "write d.pop(key) for a dict, xs.pop(i) for a list"},
	syntax.IS:      refusedIs,
	syntax.AS:      {"got keyword 'as', want end of line", "assign the value to a name: x = value"},
}

// refuse reports at the current token that a construct is not part of the language.
func (p *parser) refuse(r refusal) {
	if doubtful[r] {
		p.report(p.i, r.message, r.hint)
	} else {
		p.certain(p.i, r.message, r.hint)
	}
}

// refusedBlock parses a compound statement of Python alone. What is in its blocks is parsed as ever.
func (p *parser) refusedBlock() syntax.Stmt {
	word, line := p.tok, p.toks[p.i].line
	p.refuse(refusedKeywords[word])
	p.next()
	switch word {
	case syntax.ASYNC:
		switch p.tok {
		case syntax.DEF:
			return p.def()
		case syntax.FOR:
			return p.forStmt()
		case syntax.WITH:
			p.next()
			p.with()
		default:
			panic(bailout{})
		}
	case syntax.WITH:
		p.with()
	}
	p.colon(spell(word))
	p.suite(spell(word), line)
	return p.standIn()
}

// with parses what a with statement opens.
func (p *parser) with() {
	if p.tok == syntax.LPAREN { // perhaps around the whole list
		p.skipTo(syntax.COLON)
		return
	}
	for {
		p.test()
		if p.tok == syntax.AS {
			p.next()
			p.operand()
		}
		if p.tok != syntax.COMMA {
			return
		}
		p.next()
	}
}

// skipTo moves to the next token of the kind outside brackets, or to the end of the line.
func (p *parser) skipTo(k kind) {
	var open []kind
	for p.tok != syntax.NEWLINE && p.tok != syntax.EOF && (p.tok != k || len(open) > 0) {
		open = track(open, p.tok)
		p.next()
	}
}

// reportStray reports a clause with no statement before it that it belongs to.
func (p *parser) reportStray() {
	if r, ok := refusedKeywords[p.tok]; ok {
		p.refuse(r)
		return
	}
	p.report(p.i, fmt.Sprintf("got keyword '%s' with no if before it in this block", spell(p.tok)), "indent it like its if")
}

// clause parses an elif, else, except or finally by itself.
func (p *parser) clause() {
	p.first = p.i
	word, line := p.tok, p.toks[p.i].line
	p.next()
	switch word {
	case syntax.ELIF:
		p.test()
	case syntax.EXCEPT:
		if p.tok == syntax.STAR {
			p.next()
		}
		if p.tok != syntax.COLON {
			p.expr(false)
		}
		if p.tok == syntax.AS {
			p.next()
			p.ident()
		}
	}
	p.colon(spell(word))
	p.suite(spell(word), line)
}

// isMatch reports whether the line begins a match statement: "match" is a name
// unless a block of cases follows.
func (p *parser) isMatch() bool {
	if p.text() != "match" {
		return false
	}
	i := p.i
	for p.toks[i].kind != syntax.NEWLINE {
		if p.toks[i].kind == syntax.EOF {
			return false
		}
		i++
	}
	return p.toks[i-1].kind == syntax.COLON && p.toks[i+1].kind == syntax.INDENT && p.isCase(i+2)
}

func (p *parser) isCase(i int) bool {
	t := p.toks[i]
	return t.kind == syntax.IDENT && p.src[t.off:t.end] == "case"
}

func (p *parser) refusedMatch() syntax.Stmt {
	p.refuse(refusedMatch)
	p.switched = true
	p.next()
	p.expr(true)
	p.expect(syntax.COLON)
	p.enter()
	p.next() // NEWLINE
	p.next() // INDENT
	for p.tok != syntax.OUTDENT && p.tok != syntax.EOF {
		if !p.isCase(p.i) {
			p.block()
			break
		}
		p.first = p.i
		line := p.toks[p.i].line
		p.skipTo(syntax.COLON)
		p.colon("case")
		p.suite("case", line)
	}
	p.next() // OUTDENT
	p.leave()
	return p.standIn()
}

// habits are words that other languages begin a statement with. Here they are names, and
// a name is never followed by another name or a literal.
var habits = map[string]refusal{
	"print":    {"got print without parentheses, want a call", "write print(x)"},
	"exec":     {"got exec, want a statement", "a program cannot run text: write the code out"},
	"throw":    {"got throw, want raise", `write raise ValueError("what is wrong")`},
	"var":      {"got var, want an assignment", "write x = 1"},
	"let":      {"got let, want an assignment", "write x = 1"},
	"const":    {"got const, want an assignment", "write X = 1"},
	"type":     {"got a type alias, want a statement", "remove it: there are no type annotations"},
	"match":    {"got match, want if", "write if x == a: … elif x == b: … else: …"},
	"switch":   {"got switch, want if", "write if x == a: … elif x == b: … else: …"},
	"case":     {"got case, want if", "write if x == a: … elif x == b: … else: …"},
	"function": {"got function, want def", "write def f(x):"},
	"func":     {"got func, want def", "write def f(x):"},
	"fn":       {"got fn, want def", "write def f(x):"},
	"foreach":  {"got foreach, want for", "write for x in xs:"},
	"unless":   {"got unless, want if not", "write if not x:"},
	"until":    {"got until, want while not", "write while not x:"},
	"do":       {"got do, want while", "write while x:"},
	"elseif":   {"got elseif, want elif", "write elif x:"},
	"elsif":    {"got elsif, want elif", "write elif x:"},
	"new":      {"got new, want a call", "call the function: f(x)"},
	"delete":   {"got delete, want a call", "write d.pop(key) for a dict, xs.pop(i) for a list"},
	"echo":     {"got echo, want a call", "write print(x)"},
	"require":  {"got require, want no import", "remove it: what a program may use is there without import"},
	"using":    {"got using, want no import", "remove it: what a program may use is there without import"},
	"include":  {"got include, want no import", "remove it: what a program may use is there without import"},
}

// isStatement reports whether what follows the current name makes it the first word of a statement.
func (p *parser) isStatement() bool {
	switch p.peek() {
	case syntax.IDENT, syntax.INT, syntax.FLOAT, syntax.STRING, syntax.BYTES, fstring, syntax.LBRACE, syntax.LAMBDA:
		return true
	case syntax.NOT:
		return p.toks[p.i+2].kind != syntax.IN
	}
	return false
}

// habit refuses a statement that begins with a word of another language, and reports whether it did.
func (p *parser) habit() bool {
	if !p.isStatement() {
		return false
	}
	word := p.text()
	r, ok := habits[word]
	if !ok {
		return false
	}
	if word != "case" || !p.switched { // what was said of the switch holds for its cases
		p.refuse(r)
	}
	p.switched = p.switched || word == "switch"
	p.next()
	switch word {
	case "print", "exec", "throw", "echo":
		p.expr(true)
	case "var", "let", "const":
		p.small()
	default:
		panic(bailout{})
	}
	return true
}

// refusedPrimary parses, or fails at, a token that begins no operand.
func (p *parser) refusedPrimary() syntax.Expr {
	at := p.i
	p.h = 1
	switch p.tok {
	case syntax.YIELD:
		p.refuse(refusedYield)
		if p.next(); p.tok == syntax.FROM {
			p.next()
		}
		if startsExpr(p.tok) {
			p.enter()
			p.expr(false)
			p.leave()
		}
	case syntax.AWAIT:
		p.refuse(refusedAwait)
		p.next()
		p.enter()
		p.operand()
		p.leave()
	case ellipsis:
		p.refuse(refusedEllipsis)
		p.next()
	case syntax.NOT:
		// Where an operand of a tight operator is wanted, as in "- not x".
		p.report(p.i, "got keyword 'not' within an expression that binds tighter, want an operand", "write parentheses: (not x)")
		p.next()
		p.enter()
		p.operand()
		p.leave()
	default:
		p.unexpected("an expression")
	}
	return p.newIdent(p.pos(at), "_")
}

// noValue is called after an element of a dict that has no colon.
func (p *parser) noValue(set *bool) {
	switch p.tok {
	case syntax.COMMA, syntax.RBRACE, syntax.FOR:
		p.extend()
		*set = true
	case syntax.EQ:
		p.fail("got '=', want ':'", "write {\"key\": value}, or dict(key=value)")
	default:
		p.fail("got "+p.describe(p.toks[p.i])+", want ':'", "write {\"key\": value}")
	}
}

// annotated parses the annotation of a variable, which says nothing, and the assignment that may follow it.
func (p *parser) annotated(x syntax.Expr) syntax.Stmt {
	switch x.(type) {
	case *syntax.Ident, *syntax.DotExpr, *syntax.IndexExpr:
	default:
		return nil
	}
	if next := p.peek(); !startsExpr(next) {
		return nil
	}
	p.extend()
	p.next()
	p.test()
	p.annotatedField(x)
	if p.tok == syntax.EQ {
		return p.assign(x)
	}
	p.tall(1)
	return p.standIn()
}

// chained parses what follows the second "=" of a statement, and returns the value that is assigned and what it is assigned to.
func (p *parser) chained(x, rhs syntax.Expr) (value syntax.Expr, targets []syntax.Expr) {
	p.extend()
	targets = append(targets, x)
	h := p.h
	for p.tok == syntax.EQ {
		p.next()
		targets = append(targets, rhs)
		rhs = p.exprs(false)
		h = max(h, p.h)
	}
	p.h = h
	for _, x := range targets {
		if anyStarred(elementsOf(x)) {
			pos, _ := x.Span()
			p.errs.add(pos.Line, pos.Col, "got '*' in an assignment to several, want it in one of its own", "assign on a line each: y = v, then x = y")
			break
		}
	}
	return rhs, targets
}

// keywordAsName reports the current keyword where a name is wanted.
func (p *parser) keywordAsName() {
	word := p.text()
	p.report(p.i, "got keyword '"+word+"', want a name", "use a name that is not a word of the language: "+word+"_")
}

// trailing fails at what follows a statement on its line.
func (p *parser) trailing() {
	hint := p.hint()
	switch p.tok {
	case syntax.COLON:
		hint = "only if, elif, else, for, while and def begin a block"
	case syntax.FOR:
		hint = "a comprehension needs brackets: [f(x) for x in xs]"
	case syntax.IF, syntax.ELSE, syntax.WHILE, syntax.RETURN, syntax.DEF:
		hint = "put the statement on a line of its own"
	case syntax.IDENT, syntax.INT, syntax.FLOAT, syntax.STRING, syntax.BYTES, fstring, syntax.LBRACE:
		hint = "put an operator or a comma between them, or begin a new line"
	}
	p.fail("got "+p.describe(p.toks[p.i])+", want end of line", hint)
}

// hint says what to do about the current token, which fits nowhere.
func (p *parser) hint() string {
	if r, ok := refusedKeywords[p.tok]; ok {
		return r.hint
	}
	if r, ok := refusedOperators[p.tok]; ok {
		return r.hint
	}
	switch p.tok {
	case syntax.NEWLINE, syntax.EOF:
		if p.i >= 2 {
			a, b := p.toks[p.i-2].kind, p.toks[p.i-1].kind
			if a == b && (a == syntax.PLUS || a == syntax.MINUS) {
				return fmt.Sprintf("write x %s= 1", spell(a))
			}
		}
		return "complete the line, or put it in parentheses to go on in the next one"
	case syntax.EQ:
		return "to compare write =="
	case syntax.LOAD:
		return "load is a statement of its own: use another name"
	case syntax.FOR:
		return "a comprehension stands by itself in brackets: [f(x) for x in xs]"
	case syntax.LAMBDA:
		return "write parentheses: (lambda x: x)"
	case fatArrow:
		return "write lambda x: x + 1"
	case syntax.GTGT:
		if p.i == p.first {
			return "remove the prompt >>>"
		}
	case syntax.SEMI:
		return "write a comma between elements, a statement on each line"
	case syntax.COMMA:
		return "leave the comma out, or write what should be before it"
	case syntax.STAR, syntax.STARSTAR:
		return "only arguments of a call are unpacked: f(*xs, **d)"
	case arrow:
		return "only the result of a def has an annotation with ->, before the colon"
	case syntax.INT, syntax.FLOAT, syntax.STRING, syntax.BYTES, fstring, syntax.IDENT:
		return "put an operator or a comma between the two"
	}
	if isKeyword(p.tok) {
		return fmt.Sprintf("'%s' is a word of the language: write it where it belongs, or use another name", spell(p.tok))
	}
	return fmt.Sprintf("write what is missing before '%s', or leave it out", spell(p.tok))
}
