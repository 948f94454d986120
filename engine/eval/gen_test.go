package eval

import (
	"math/rand/v2"
	"strings"
)

// gen makes random programs over a fixed cast of names. They are well-formed, and most run
// without errors, for an error ends a comparison early.
//
// Programs are made of templates (gen_expr_test.go, gen_stmt_test.go), in which
//
//	$X  is an expression of type X; with a small letter, one in which the int z is in scope
//	@X  is a variable of type X that may be assigned to
//	#X  is a plain name of type X, the same one throughout the template
//	`   is a block
//	?   is a block with a statement in it that may end in an error
//
// and the types are
//
//	I int     S int from 0 to 3     G float    B truth     T string   Y bytes
//	L list of ints     U list of strings     R reference to a list that may be changed
//	D dict of ints     M reference to one    K dict of strings to ints
//	E set of ints      W reference to one    P pair of ints   V struct with a and c
//	F function of an int    C call of a function of the program    A anything
type gen struct {
	*rand.Rand
	out    []byte
	indent string
	bol    bool // at the beginning of a line

	short bool // few statements, of few parts

	fn    bool // inside of a function
	loop  bool // inside of a loop
	z     int  // how many z are in scope
	left  int  // parts that the statement may still have
	depth int  // of blocks
}

// words are the names and templates of a type.
type words struct {
	plain []string // names and constants
	inner []string // those in a function, if not the same
	set   []string // names that may be assigned to
	setIn []string // those in a function
	texts []string // templates, as they are written
	ops   []template
}

type template []part

// part is text, and a hole after it unless kind is 0.
type part struct {
	text string
	kind byte
	typ  byte
	z    bool
}

// parsed cuts the templates of all types.
func parsed(all [types]*words) [types]*words {
	for _, w := range all {
		if w != nil {
			w.ops = templatesOf(w.texts...)
		}
	}
	return all
}

const types = 'Y' + 1

func templatesOf(texts ...string) []template {
	var out []template
	for _, s := range texts {
		out = append(out, parseTemplate(s))
	}
	return out
}

// parseTemplate cuts a template at its holes.
func parseTemplate(s string) template {
	var out template
	from := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '`', '?':
			out = append(out, part{text: s[from:i], kind: c})
			from = i + 1
			if i+1 < len(s) && s[i+1] == '\n' {
				panic("template " + s + ": a block ends its own line")
			}
		case '$', '@', '#':
			i++
			p := part{text: s[from : i-1], kind: c, typ: s[i]}
			if 'a' <= p.typ && p.typ <= 'z' {
				p.typ, p.z = p.typ-'a'+'A', true
			}
			if !strings.ContainsRune("ISGBTYLURDMKEWPVFCA", rune(p.typ)) {
				panic("template " + s + ": no type " + s[i:i+1])
			}
			out = append(out, p)
			from = i + 1
		}
	}
	return append(out, part{text: s[from:]})
}

func (g *gen) one(list []string) string { return list[g.IntN(len(list))] }

// chance is true n times out of 100.
func (g *gen) chance(n int) bool { return g.IntN(100) < n }

// write writes text, indented.
func (g *gen) write(s string) {
	for s != "" {
		if g.bol {
			g.out = append(g.out, g.indent...)
			g.bol = false
		}
		i := strings.IndexByte(s, '\n') + 1
		if i == 0 {
			g.out = append(g.out, s...)
			return
		}
		g.out = append(g.out, s[:i]...)
		g.bol = true
		s = s[i:]
	}
}

// name is a plain name of a type, or a constant.
func (g *gen) name(typ byte) string {
	w := vocabulary[typ]
	if g.z > 0 && (typ == 'I' || typ == 'S' || typ == 'A') && g.chance(40) {
		if typ == 'S' {
			return "(z % 4)"
		}
		return "z"
	}
	if g.fn && w.inner != nil {
		return g.one(w.inner)
	}
	return g.one(w.plain)
}

// expr writes an expression of a type.
func (g *gen) expr(typ byte) {
	w := vocabulary[typ]
	g.left--
	if len(w.ops) > 0 && (len(w.plain) == 0 || g.left > 0 && g.chance(70)) {
		if typ == 'B' {
			g.write("(")
			defer g.write(")")
		}
		g.fill(w.ops[g.IntN(len(w.ops))])
		return
	}
	g.write(g.name(typ))
}

// fill writes a template.
func (g *gen) fill(t template) {
	var once ['Z' + 1]string
	for _, p := range t {
		g.write(p.text)
		switch p.kind {
		case '$':
			if p.z {
				g.z++
			}
			g.expr(p.typ)
			if p.z {
				g.z--
			}
		case '@':
			if w := vocabulary[p.typ]; g.fn {
				g.write(g.one(w.setIn))
			} else {
				g.write(g.one(w.set))
			}
		case '#':
			if once[p.typ] == "" {
				once[p.typ] = g.name(p.typ)
			}
			g.write(once[p.typ])
		case '`':
			loop := g.loop
			if s := t[0].text; strings.HasPrefix(s, "for ") || strings.HasPrefix(s, "while ") {
				g.loop = true
			}
			g.block(1 + g.IntN(3))
			g.loop = loop
		case '?':
			was := g.indent
			g.indent += "  "
			g.depth++
			if g.chance(30) {
				g.stmt()
			}
			g.ender()
			for g.chance(40) {
				g.stmt()
			}
			g.depth--
			g.indent = was
		}
	}
}

// block writes n statements, deeper than what is around them.
func (g *gen) block(n int) {
	was := g.indent
	g.indent += "  "
	g.depth++
	for range n {
		g.stmt()
	}
	g.depth--
	g.indent = was
}

// size is how many parts a statement may have. Most are small: where there is much in a statement, one part hides
// what another shows.
func (g *gen) size() int {
	if g.short {
		return g.IntN(3)
	}
	if g.chance(60) {
		return 1 + g.IntN(3)
	}
	return 2 + g.IntN(7)
}

// everyOp are all templates of expressions that are data.
var everyOp = func() []template {
	var out []template
	for typ, w := range vocabulary {
		if w != nil && typ != 'F' && typ != 'S' {
			out = append(out, w.ops...)
		}
	}
	return out
}()

// probe sends the result of some operation on few things.
func (g *gen) probe() {
	g.left = g.IntN(3)
	g.write(g.one([]string{"send(", "send(", "send(", "print(", "q0 = ("}))
	g.fill(everyOp[g.IntN(len(everyOp))])
	g.write(")\n")
}

// stmt writes a statement.
func (g *gen) stmt() {
	g.left = g.size()
	switch n := g.IntN(100); {
	case n < 3 && g.loop:
		g.write(g.one([]string{"break", "continue"}))
	case n < 5 && g.fn:
		g.write("return ")
		g.expr('I')
	case n < 10 && !g.fn:
		g.fill(outerStmts[g.IntN(len(outerStmts))])
	case n < 70 || g.depth > 2:
		g.fill(simpleStmts[g.IntN(len(simpleStmts))])
	case n < 84:
		g.fill(leakStmts[g.IntN(len(leakStmts))])
	default:
		g.fill(blockStmts[g.IntN(len(blockStmts))])
		return // ends its own line
	}
	g.write("\n")
}

// function writes a function of three parameters, or one of a template's kind.
func (g *gen) function(head string) {
	g.write(head + "\n")
	g.indent, g.fn, g.depth = "  ", true, 1
	g.write("j0 = 0\nj1 = 1\nk0 = []\nh = lambda: j0 + len(k0)\nif a > 9: j2 = 0\n")
	for range 1 + g.IntN(4) {
		g.stmt()
	}
	g.left = g.size()
	g.write("return ")
	g.expr('I')
	g.indent, g.fn, g.depth = "", false, 0
	g.write("\n")
}

func (g *gen) statements(n int) {
	for range n {
		if g.chance(40) {
			g.probe()
		} else {
			g.stmt()
		}
	}
}

// ender writes a statement that may end the program.
func (g *gen) ender() {
	g.left = g.IntN(3)
	if g.chance(20) {
		g.left = g.size()
	}
	g.fill(enderStmts[g.IntN(len(enderStmts))])
	g.write("\n")
}

// programs returns the turns of a session, the first of which is [prelude].
func (g *gen) programs() []string {
	turns := []string{prelude}
	long := !g.short && g.chance(25)
	for {
		g.out, g.bol = nil, true
		switch {
		case g.short:
			g.statements(1 + g.IntN(2))
		case len(turns) > 1:
			g.statements(1 + g.IntN(4))
		case long:
			for _, head := range heads {
				if g.chance(60) {
					g.function(head)
				}
			}
			g.statements(4 + g.IntN(5))
		default:
			g.statements(2 + g.IntN(6))
		}
		if g.chance(45) {
			g.ender()
		}
		turns = append(turns, string(g.out))
		if g.chance(45) || len(turns) == 5 {
			return turns
		}
	}
}
