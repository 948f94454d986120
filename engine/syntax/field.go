package syntax

import (
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// strings parses a string, bytes or f-string, and those that follow it directly: together they are one.
func (p *parser) strings() syntax.Expr {
	first := p.i
	if p.tok != fstring {
		lit := p.literal()
		if !p.another(first) {
			return lit
		}
		p.extend()
		return p.joined(first, []syntax.Expr{lit})
	}
	return p.joined(first, nil)
}

// another reports whether the current token is a string that continues the one before. One on a new line before a
// colon is a key, and the comma before it is missing.
func (p *parser) another(first int) bool {
	switch p.tok {
	case syntax.STRING, syntax.BYTES, fstring:
	default:
		return false
	}
	if p.peek() == syntax.COLON && p.toks[p.i].line > p.toks[p.i-1].line {
		return false
	}
	bytes := p.toks[first].kind == syntax.BYTES
	if (p.tok == syntax.BYTES) != bytes && (p.toks[p.i-1].kind == syntax.BYTES) == bytes && p.toks[p.i-1].flag&isKnown == 0 {
		p.refuse(refusedMixture)
	}
	return true
}

// joined parses the strings from the current token on, and joins them to the parts before.
func (p *parser) joined(first int, parts []syntax.Expr) syntax.Expr {
	pos, h := p.pos(first), 1
	for more := true; more; more = p.another(first) {
		if p.tok == fstring {
			parts = p.formatted(parts)
			h = max(h, p.h)
		} else {
			parts = append(parts, p.literal())
		}
	}
	merged := parts[:0]
	for len(parts) > 0 {
		n := 0
		for n < len(parts) && isLiteral(parts[n]) {
			n++
		}
		if n > 1 {
			merge(parts[0].(*syntax.Literal), parts[1:n])
		}
		merged = append(merged, parts[0])
		parts = parts[max(n, 1):]
	}
	p.h = h
	switch len(merged) {
	case 0:
		return p.newText(pos, "", `""`)
	case 1:
		if lit, ok := merged[0].(*syntax.Literal); ok {
			return lit
		}
	}
	p.tall(h + 1)
	return p.special(FString, pos, merged...)
}

func isLiteral(x syntax.Expr) bool {
	_, ok := x.(*syntax.Literal)
	return ok
}

// merge appends literals to one.
func merge(first *syntax.Literal, rest []syntax.Expr) {
	var value, raw strings.Builder
	add := func(lit *syntax.Literal) {
		v, _ := lit.Value.(string)
		value.WriteString(v)
		raw.WriteString(lit.Raw)
	}
	add(first)
	for _, x := range rest {
		raw.WriteByte(' ')
		add(x.(*syntax.Literal))
	}
	first.Value, first.Raw = value.String(), raw.String()
}

// formatted parses an f-string and appends its parts: literals, and a tuple for each field. It sets p.h to the height of the highest.
func (p *parser) formatted(parts []syntax.Expr) []syntax.Expr {
	p.extend()
	t := p.toks[p.i]
	p.h = 1
	if t.flag&isKnown != 0 {
		p.next()
		return parts
	}
	begin := int(t.off) + strings.IndexAny(p.src[t.off:t.end], `"'`)
	prefix := strings.ToLower(p.src[t.off:begin])
	if strings.Contains(prefix, "t") {
		p.refuse(refusedTemplate)
	}
	quotes := 1
	if strings.HasPrefix(p.src[begin:], strings.Repeat(p.src[begin:begin+1], 3)) {
		quotes = 3
	}
	s := scanners.Get().(*scanner)
	defer s.release()
	s.reset(p.src[:int(t.end)-quotes], p.limits, p.errs)
	s.i, s.line, s.start = begin+quotes, t.line, int(t.off)-int(t.col-1)
	f := fieldParser{p: p, s: s, raw: strings.Contains(prefix, "r"), pos: p.pos(p.i)}
	parts = f.parts(parts, false)
	p.next()
	p.h = f.h + 2
	return parts
}

// fieldParser parses the text of an f-string, of which a scanner of its own reads the tokens in the fields.
type fieldParser struct {
	p   *parser
	s   *scanner
	raw bool
	pos syntax.Position // of the f-string
	h   int             // of the highest expression
}

// parts appends what is between the quotes, or in a specification what is before the closing brace.
func (f *fieldParser) parts(parts []syntax.Expr, spec bool) []syntax.Expr {
	for {
		if x := f.text(spec); x != nil {
			parts = append(parts, x)
		}
		if f.s.i >= len(f.s.src) || spec && f.s.src[f.s.i] == '}' {
			return parts
		}
		parts = f.field(parts)
	}
}

// text parses what is before the next field.
func (f *fieldParser) text(spec bool) syntax.Expr {
	s := f.s
	line, col := s.line, s.col(s.i)
	pos := syntax.MakePosition(f.p.name, line, col)
	var b strings.Builder
	escaped := false
scan:
	for s.i < len(s.src) {
		c := s.src[s.i]
		switch {
		case c == '{' && !spec && s.next(1, '{'), c == '}' && !spec && s.next(1, '}'):
			b.WriteByte(c)
			s.i += 2
			continue
		case c == '{' || c == '}' && spec:
			break scan
		case c == '}':
			s.report(s.i, "got '}' with no '{' open, want the field that it ends", "a brace that is meant as such is written twice: }}")
			s.i++
			continue
		case c == '\n' || c == '\r':
			s.newline()
			b.WriteByte('\n')
			continue
		case c == '\\' && !f.raw && s.i+1 < len(s.src):
			escaped = true
			b.WriteByte(c)
			s.i++
			if c = s.src[s.i]; c == '{' || c == '}' {
				s.report(s.i-1, "escape \\"+string(rune(c))+" means nothing, want a brace", `for a brace itself write it twice, for a backslash \\`)
				b.WriteByte('\\')
				continue
			} else if c == '\n' || c == '\r' {
				continue
			}
		case c&0xc0 == 0x80:
			s.wide++
		}
		b.WriteByte(c)
		s.i++
	}
	text := b.String()
	if text == "" {
		return nil
	}
	value := text
	if escaped {
		var bad int
		var problem, hint string
		if value, bad, problem, hint = unescape(text, false); problem != "" {
			before := text[:bad]
			if i := strings.LastIndexByte(before, '\n'); i >= 0 {
				line += int32(strings.Count(before, "\n"))
				col, before = 1, before[i+1:]
			}
			f.p.errs.add(line, col+int32(utf8.RuneCountInString(before)), problem, hint)
		}
	}
	return f.p.newText(pos, value, text)
}

// field parses a field, whose brace is the next byte.
func (f *fieldParser) field(parts []syntax.Expr) []syntax.Expr {
	p, s := f.p, f.s
	line, col, known := s.line, s.col(s.i), len(p.errs.list)
	s.i++
	s.toks, s.mends = s.toks[:0], s.mends[:0]
	begin := s.i
	for s.i < len(s.src) && !f.ends() {
		switch c := s.src[s.i]; c {
		case ' ', '\t':
			s.i++
		case '\n', '\r':
			s.newline()
		default:
			s.token(c)
		}
	}
	if s.stopped {
		panic(stop{})
	}
	if len(s.brackets.open) > 0 {
		s.neverClosed(s.brackets.open, "before the end of the field")
		s.closeTo(0, true)
	}
	var x syntax.Expr
	if len(s.toks) == 0 {
		s.errs.add(line, col, "got a field with nothing in it, want an expression", "a brace that is meant as such is written twice: {{")
		x = p.newIdent(f.pos, "_")
	} else {
		x = p.within(s)
		f.h = max(f.h, p.h)
	}
	at, _ := x.Span()

	conversion := ""
	if s.next(0, '=') {
		s.i++
		for s.next(0, ' ') {
			s.i++
		}
		shown := s.src[begin:s.i]
		parts = append(parts, p.newText(at, shown, shown))
		if !s.next(0, '!') && !s.next(0, ':') {
			conversion = "r"
		}
	}
	if s.next(0, '!') {
		s.i++
		from := s.i
		for s.i < len(s.src) && class[s.src[s.i]] == letter {
			s.i++
		}
		switch conversion = s.src[from:s.i]; conversion {
		case "r", "s", "a":
		default:
			s.report(from-1, "got the conversion !"+clip(conversion)+", want !r, !s or !a", "leave it out, or write !r for the text as in a program")
		}
	}
	var spec syntax.Expr = p.newText(at, "", "")
	if s.next(0, ':') {
		s.i++
		switch inner := f.parts(nil, true); len(inner) {
		case 0:
		case 1:
			if lit, ok := inner[0].(*syntax.Literal); ok {
				spec = lit
				break
			}
			fallthrough
		default:
			spec = p.special(FString, at, inner...)
			f.h++
		}
	}
	if s.next(0, '}') {
		s.i++
	} else if s.i = len(s.src); len(p.errs.list) == known {
		s.errs.add(line, col, "got a field that does not end, want '}' after its expression", "end it with }, !r} or :specification}; a brace that is meant as such is written twice: {{")
	}
	return append(parts, &syntax.TupleExpr{List: []syntax.Expr{x, p.newText(at, conversion, conversion), spec}})
}

// ends reports whether the expression of a field ends here.
func (f *fieldParser) ends() bool {
	s := f.s
	if len(s.brackets.open) > 0 {
		return false
	}
	switch s.src[s.i] {
	case '}', ':':
		return true
	case '!':
		return !s.next(1, '=')
	case '=':
		return !s.next(1, '=')
	}
	return false
}

// within parses the tokens that a scanner has read as one expression.
func (p *parser) within(s *scanner) (x syntax.Expr) {
	s.emit(syntax.RBRACE, s.i, 0)
	s.emit(syntax.EOF, s.i, 0)
	s.emit(syntax.EOF, s.i, 0)
	toks, mends, i, tok, first, looked, found := p.toks, p.mends, p.i, p.tok, p.first, p.looked, p.found
	depth, stack, lambdas := p.depth, len(p.stack), p.lambdas
	p.toks, p.mends, p.i, p.tok, p.first, p.looked = s.toks, s.mends, 0, s.toks[0].kind, 0, -1
	defer func() {
		r := recover()
		p.toks, p.mends, p.i, p.tok, p.first, p.looked, p.found = toks, mends, i, tok, first, looked, found
		switch r.(type) {
		case nil:
		case bailout:
			p.depth, p.stack, p.lambdas = depth, p.stack[:stack], lambdas
			p.h = 1
			x = p.newIdent(p.pos(i), "_")
		default:
			panic(r)
		}
	}()
	p.enter()
	x = p.expr(true)
	p.leave()
	if p.tok != syntax.RBRACE {
		p.unexpected("'}'")
	}
	return x
}
