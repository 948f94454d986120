package cel

import (
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"callgate/spec"
)

// finding is a problem within an expression, before it has a place.
type finding struct {
	id         int64 // of the node; 0 if at is the place
	at         common.Location
	text, hint string
	warn       bool

	about about // a parameter, if not 0
	param string
}

// problem gives a finding its place in the file.
func (x *expr) problem(f finding) spec.Problem {
	p := spec.Problem{Text: x.role + ": " + f.text, Hint: f.hint, Warn: f.warn, Pos: x.src.Pos}
	if line, column := x.place(f); line > 0 {
		p.Pos = x.src.LineColumn(line, column)
	}
	return p
}

// place returns the line and column, from 1, of what a finding is about: the field of a
// selection, the function of a call, the beginning for the expression as a whole. The library gives
// the dot, and the parenthesis.
func (x *expr) place(f finding) (line, column int) {
	at := f.at
	switch {
	case at != nil:
	case x.ast == nil:
		return 0, 0
	case f.id == x.ast.Expr().ID():
		return 1, 1
	default:
		at = x.ast.SourceInfo().GetStartLocation(f.id)
	}
	if at.Line() < 1 {
		return 0, 0
	}
	lines := strings.Split(x.src.Text, "\n")
	if at.Line() > len(lines) {
		return at.Line(), at.Column() + 1
	}
	text, i := []rune(lines[at.Line()-1]), at.Column()
	is := func(i int, ok func(rune) bool) bool { return i >= 0 && i < len(text) && ok(text[i]) }
	blank := func(r rune) bool { return r == ' ' || r == '\t' }
	switch {
	case is(i, func(r rune) bool { return r == '.' }):
		for is(i, func(r rune) bool { return r == '.' || r == '?' || blank(r) }) {
			i++
		}
	case is(i, func(r rune) bool { return r == '(' }):
		j := i - 1
		for is(j, blank) {
			j--
		}
		for is(j, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			i, j = j, j-1
		}
	}
	return at.Line(), i + 1
}

// explain turns what the library reports of an expression into findings.
func (x *expr) explain(p *provider, errs []*common.Error) []finding {
	var out []finding
	seen := map[finding]bool{}
	for _, e := range errs {
		f := x.reword(p, e)
		f.at = e.Location
		if !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	return out
}

var (
	undeclared  = regexp.MustCompile(`^undeclared reference to '(.*)' \(in container '.*'\)$`)
	noField     = regexp.MustCompile(`^undefined field '(.*)'$`)
	noOverload  = regexp.MustCompile(`(?s)^found no matching overload for '(.*)' applied to '(.*)'$`)
	wrongType   = regexp.MustCompile(`^expected type '(.*)' but found '(.*)'$`)
	noSelection = regexp.MustCompile(`^type '(.*)' does not support field selection$`)
	syntaxError = regexp.MustCompile(`(?s)^Syntax error: (.*)$`)
	badLiteral  = regexp.MustCompile(`^invalid (\w+) argument$`)
	expecting   = regexp.MustCompile(`(?s) expecting .*$`)
	unexpected  = regexp.MustCompile(`^(?:mismatched|extraneous|no viable alternative at) input (.*)$`)
	noToken     = regexp.MustCompile(`^token recognition error at: '(.*)'$`)
)

// reword says what the library reports in our words, with a hint if there is a likely one.
func (x *expr) reword(p *provider, e *common.Error) finding {
	say := func(format string, args ...any) finding { return finding{text: fmt.Sprintf(format, args...)} }
	if m := undeclared.FindStringSubmatch(e.Message); m != nil {
		return x.undeclared(e.ExprID, m[1])
	}
	if m := noField.FindStringSubmatch(e.Message); m != nil {
		return x.noField(p, e.ExprID, m[1])
	}
	if m := noOverload.FindStringSubmatch(e.Message); m != nil {
		name := m[1]
		switch op, ok := operators.FindReverse(name); {
		case name == operators.Equals, name == operators.NotEquals:
			return say("'%s' compares values of one type, got %s", op, m[2])
		case name == operators.Index, name == operators.OptIndex:
			name = "[]"
		case name == operators.Conditional:
			name = "?:"
		case ok && op != "":
			name = op
		}
		return say("'%s' does not take %s", name, m[2])
	}
	if m := wrongType.FindStringSubmatch(e.Message); m != nil {
		return say("got %s, want %s", m[2], m[1])
	}
	if m := noSelection.FindStringSubmatch(e.Message); m != nil {
		return say("%s has no fields", m[1])
	}
	if m := badLiteral.FindStringSubmatch(e.Message); m != nil {
		return x.invalid(e.ExprID, m[1])
	}
	if m := syntaxError.FindStringSubmatch(e.Message); m != nil {
		f := say("syntax error: %s", syntaxText(m[1]))
		if f.text == "syntax error: unexpected '='" {
			f.hint = "write == to compare"
		}
		return f
	}
	return say("%s", oneLine(e.Message))
}

// syntaxText says what the parser found and leaves out what it expected, which is long.
func syntaxText(s string) string {
	s = oneLine(strings.ReplaceAll(expecting.ReplaceAllString(s, ""), "'<EOF>'", "end of the expression"))
	if m := unexpected.FindStringSubmatch(s); m != nil {
		return "unexpected " + m[1]
	}
	if m := noToken.FindStringSubmatch(s); m != nil {
		return fmt.Sprintf("unexpected '%s'", strings.TrimSpace(m[1]))
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (x *expr) undeclared(id int64, name string) finding {
	f := finding{text: fmt.Sprintf("undeclared reference to '%s'", name)}
	known := x.env.names // of functions
	if n := x.node(id); n != nil && n.Kind() != ast.CallKind {
		known = slices.DeleteFunc(slices.Collect(maps.Keys(variableTypes)), func(n string) bool { return n == varLeaf && !x.eachLeaf })
		known = append(known, x.localNames()...)
		slices.Sort(known)
	}
	if slices.Contains(x.variableNames, name) {
		f.hint = fmt.Sprintf("write variables.%s", name)
	} else {
		f.hint = nearestOf(name, known)
	}
	return f
}

// node returns the node of an id, or nil.
func (x *expr) node(id int64) ast.Expr {
	var found ast.Expr
	walk(x.ast.Expr(), nil, func(e ast.Expr, _ *scope) bool {
		if e.ID() == id {
			found = e
		}
		return found == nil
	})
	return found
}

// invalid says what is wrong with a literal of a special form.
func (x *expr) invalid(id int64, what string) finding {
	f := finding{text: fmt.Sprintf("invalid %s argument", what)}
	n := x.node(id)
	if n == nil {
		return f
	}
	switch v := literalText(n); what {
	case "matches":
		if _, err := syntax.Parse(v, syntax.Perl); err != nil {
			f.text = strings.Replace(err.Error(), "error parsing regexp", "regular expression", 1)
		}
	case "timestamp":
		f.text = fmt.Sprintf("timestamp: got '%s', want a time such as 2026-12-01T10:00:00Z", v)
	case "duration":
		f.text = fmt.Sprintf("duration: got '%s', want a time span such as 1h30m", v)
	}
	return f
}

// localNames returns the variables of the expression's comprehensions.
func (x *expr) localNames() []string {
	var out []string
	if x.ast != nil {
		walk(x.ast.Expr(), nil, func(e ast.Expr, _ *scope) bool {
			if e.Kind() == ast.ComprehensionKind {
				for _, name := range []string{e.AsComprehension().IterVar(), e.AsComprehension().IterVar2()} {
					if name != "" && !strings.ContainsAny(name, "@#") {
						out = append(out, name)
					}
				}
			}
			return true
		})
	}
	return out
}

// noField says of which type a field is missing, as far as it can be told, and which
// is nearest.
func (x *expr) noField(p *provider, id int64, field string) finding {
	t := x.operandType(p, id)
	if t == nil {
		return finding{text: fmt.Sprintf("no field '%s'", field), hint: nearestOf(field, p.allFields())}
	}
	f := finding{hint: nearestOf(field, slices.Concat(t.order, slices.Sorted(maps.Keys(t.others))))}
	switch {
	case t.name == typeParams:
		f.text = fmt.Sprintf("unknown parameter 'params.%s'", field)
	case t.name == typeVariables:
		f.text = fmt.Sprintf("unknown variable 'variables.%s'", field)
		if slices.Contains(x.variableNames, field) {
			f.hint = fmt.Sprintf("move '%s' up: a variable may use those before it", field)
		}
	case strings.HasPrefix(t.name, typeArguments):
		f.about, f.param = aboutLack, field
	default:
		f.text = fmt.Sprintf("no field '%s' in %s", field, t.name)
	}
	return f
}

func nearestOf(word string, known []string) string {
	if near := spec.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean '%s'?", near)
	}
	return ""
}

func (p *provider) allFields() []string {
	var out []string
	for _, types := range []map[string]*objectType{p.own, documentTypes} {
		for _, t := range types {
			out = append(out, t.order...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// operandType returns the type of what a node selects a field of, or nil. The checker
// does not say when it fails; chains of selections are followed instead.
func (x *expr) operandType(p *provider, id int64) *objectType {
	var found *objectType
	names := map[string]*types.Type{} // of comprehensions
	walk(x.ast.Expr(), nil, func(e ast.Expr, _ *scope) bool {
		if e.Kind() == ast.ComprehensionKind && !e.AsComprehension().HasIterVar2() {
			c := e.AsComprehension()
			if of := chainType(p, c.IterRange(), names); of != nil && of.Kind() == types.ListKind {
				names[c.IterVar()] = of.Parameters()[0]
			}
			if bound := chainType(p, c.AccuInit(), names); bound != nil { // cel.bind
				names[c.AccuVar()] = bound
			}
		}
		if operand, _, _, ok := step(e); ok && e.ID() == id {
			if t := chainType(p, operand, names); t != nil {
				found = p.object(t.TypeName())
			}
		}
		return found == nil
	})
	return found
}

// chainType returns the type of a chain of selections, or nil if it cannot be told.
func chainType(p *provider, e ast.Expr, names map[string]*types.Type) *types.Type {
	if e.Kind() == ast.IdentKind {
		if t := names[e.AsIdent()]; t != nil {
			return t
		}
		return variableTypes[strings.TrimPrefix(e.AsIdent(), ".")]
	}
	operand, field, _, ok := step(e)
	if f, is := filterOf(e); is {
		return chainType(p, f.of, names)
	}
	if !ok {
		return nil
	}
	t := chainType(p, operand, names)
	switch {
	case t == nil:
		return nil
	case t.Kind() == types.ListKind:
		return t.Parameters()[0]
	case t.Kind() == types.MapKind:
		return t.Parameters()[1]
	case t.Kind() == types.StructKind:
		if f, ok := p.FindStructFieldType(t.TypeName(), field); ok {
			return f.Type
		}
	}
	return nil
}
