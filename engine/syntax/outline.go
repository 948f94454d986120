package syntax

import "go.starlark.net/syntax"

// Outline is what the arguments of a program's calls look like, without what is written in them: a reader who may not see texts and numbers of the
// program may see it. The zero Outline knows no call.
type Outline struct {
	at    map[[2]int][]string
	names map[string]bool
}

// OutlineOf returns the outline of all calls, by a name, of some functions of the language in a program. A text that does not parse has none.
func OutlineOf(text string, functions ...string) Outline {
	o := Outline{at: map[[2]int][]string{}, names: map[string]bool{}}
	tree, err := Parse("", []byte(text), Limits{})
	if err != nil {
		return o
	}
	for _, stmt := range tree.Stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				o.call(call, functions)
			}
			return true
		})
	}
	return o
}

func (o Outline) call(call *syntax.CallExpr, functions []string) {
	f, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return
	}
	for _, name := range functions {
		if f.Name != name {
			continue
		}
		var args []string
		for _, x := range call.Args {
			if b, ok := x.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ { // by keyword
				break
			}
			if u, ok := x.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) { // how many they are is data
				break
			}
			args = append(args, outline(x, maxOutline))
		}
		o.at[[2]int{int(call.Lparen.Line), int(call.Lparen.Col)}] = args
		for _, a := range args {
			o.names[a] = true
		}
	}
}

// Argument returns how the argument of a call looks whose parenthesis is at a place; "" if it is not known.
func (o Outline) Argument(line, column, index int) string {
	if args := o.at[[2]int{line, column}]; index < len(args) {
		return args[index]
	}
	return ""
}

// Len returns how many different answers [Outline.Argument] has.
func (o Outline) Len() int { return len(o.names) + 1 }

// maxOutline is how deep an expression is written.
const maxOutline = 5

// outline writes an expression that is a name, or begins with one: names as they are, and dots for anything else.
func outline(x syntax.Expr, depth int) string {
	s := ""
	if depth == 0 {
		return "..."
	}
	switch x := x.(type) {
	case *syntax.Ident:
		s = x.Name
	case *syntax.ParenExpr:
		s = outline(x.X, depth-1)
	case *syntax.DotExpr:
		s = outline(x.X, depth-1) + "." + x.Name.Name
	case *syntax.IndexExpr:
		s = outline(x.X, depth-1) + "[...]"
	case *syntax.SliceExpr:
		s = outline(x.X, depth-1) + "[...]"
	case *syntax.CallExpr:
		if f := outline(x.Fn, depth-1); f[0] != '<' { // no call that stands for something else
			s = f + "(...)"
		}
	case *syntax.ListExpr, *syntax.Comprehension:
		s = "[...]"
	case *syntax.DictExpr:
		s = "{...}"
	case *syntax.Literal:
		if x.Token == syntax.STRING {
			s = `"..."`
		}
	}
	if s == "" || len(s) > 20*maxOutline {
		return "..."
	}
	return s
}
