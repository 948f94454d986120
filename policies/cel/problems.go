package cel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
}

// problem gives a finding its place in the file.
func (x *expr) problem(f finding) spec.Problem {
	p := spec.Problem{Text: x.role + ": " + f.text, Hint: f.hint, Warn: f.warn, Pos: x.src.Pos}
	at := f.at
	if at == nil && x.ast != nil {
		at = x.ast.SourceInfo().GetStartLocation(f.id)
	}
	if at != nil && at.Line() > 0 {
		p.Pos = x.src.LineColumn(at.Line(), at.Column()+1)
	}
	return p
}

// explain turns what the library reports of an expression into findings.
func (x *expr) explain(p *provider, errs []*common.Error) []finding {
	var out []finding
	seen := map[finding]bool{}
	for _, e := range errs {
		f := finding{at: e.Location}
		f.text, f.hint = x.reword(p, e)
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
	expecting   = regexp.MustCompile(`(?s) expecting .*$`)
)

// reword says what the library reports in our words, with a hint if there is a likely one.
func (x *expr) reword(p *provider, e *common.Error) (text, hint string) {
	if m := undeclared.FindStringSubmatch(e.Message); m != nil {
		return x.undeclared(m[1])
	}
	if m := noField.FindStringSubmatch(e.Message); m != nil {
		return x.noField(p, e.ExprID, m[1])
	}
	if m := noOverload.FindStringSubmatch(e.Message); m != nil {
		name, sign := m[1], false
		if op, ok := operators.FindReverse(name); ok && op != "" {
			name, sign = op, true
		}
		switch m[1] {
		case operators.Index, operators.OptIndex:
			name = "[]"
		case operators.Conditional:
			name = "?:"
		}
		if sign && name == "==" || name == "!=" {
			return fmt.Sprintf("'%s' compares values of one type, got %s", name, m[2]), ""
		}
		return fmt.Sprintf("'%s' does not take %s", name, m[2]), ""
	}
	if m := wrongType.FindStringSubmatch(e.Message); m != nil {
		return fmt.Sprintf("got %s, want %s", m[2], m[1]), ""
	}
	if m := noSelection.FindStringSubmatch(e.Message); m != nil {
		return fmt.Sprintf("%s has no fields", m[1]), ""
	}
	if m := syntaxError.FindStringSubmatch(e.Message); m != nil {
		s := strings.ReplaceAll(expecting.ReplaceAllString(m[1], ""), "'<EOF>'", "end of the expression")
		return "syntax error: " + strings.Join(strings.Fields(s), " "), ""
	}
	return strings.Join(strings.Fields(e.Message), " "), ""
}

func (x *expr) undeclared(name string) (text, hint string) {
	text = fmt.Sprintf("undeclared reference to '%s'", name)
	known := slices.Collect(maps.Keys(variableTypes))
	known = append(known, x.env.names...)
	known = append(known, x.localNames()...)
	slices.Sort(known)
	if near := spec.Nearest(name, known); near != "" {
		hint = didYouMean(near)
	} else if i := slices.Index(x.variableNames, name); i >= 0 {
		hint = fmt.Sprintf("write variables.%s", name)
	}
	return text, hint
}

func didYouMean(near string) string { return fmt.Sprintf("did you mean '%s'?", near) }

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
func (x *expr) noField(p *provider, id int64, field string) (text, hint string) {
	t := x.operandType(p, id)
	if t == nil {
		return fmt.Sprintf("no field '%s'", field), nearestOf(field, p.allFields())
	}
	switch t.name {
	case typeParams:
		text = fmt.Sprintf("unknown parameter 'params.%s'", field)
	case typeVariables:
		text = fmt.Sprintf("unknown variable 'variables.%s'", field)
		if i := slices.Index(x.variableNames, field); i >= 0 {
			return text, fmt.Sprintf("move '%s' up: a variable may use those before it", field)
		}
	default:
		text = fmt.Sprintf("no field '%s' in %s", field, t.name)
		if tool, ok := strings.CutPrefix(t.name, typeArguments); ok {
			text = noParameter(tool, field)
		}
	}
	return text, nearestOf(field, slices.Concat(t.order, slices.Sorted(maps.Keys(t.others))))
}

func nearestOf(word string, known []string) string {
	if near := spec.Nearest(word, known); near != "" {
		return didYouMean(near)
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
