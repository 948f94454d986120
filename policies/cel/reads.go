package cel

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// reads collects the fields of the request that expressions may depend on. A chain
// of selections reads the field at its end; a value that goes anywhere else is
// read as a whole.
type reads struct {
	fields    map[string]bool
	variables map[string]bool // the policy's own, by name; "*" for all
}

func newReads() *reads {
	return &reads{fields: map[string]bool{}, variables: map[string]bool{}}
}

// sorted returns the fields, without those below others.
func (r *reads) sorted() []string {
	all := slices.Sorted(maps.Keys(r.fields))
	return slices.DeleteFunc(all, func(f string) bool {
		for i, c := range f {
			if c == '.' && r.fields[f[:i]] && !strings.HasPrefix(f[:i], pathCount+".") { // a tool's name has dots
				return true
			}
		}
		return false
	})
}

// staticFields are known before the call: rules are specialised for them.
var staticFields = map[string]bool{
	"agent.name": true, "principal.sub": true, "principal.groups": true,
	"call.kind": true, "call.tool": true, "call.effects": true, "call.sinks": true,
}

func (r *reads) add(path string) {
	if !staticFields[path] {
		r.fields[path] = true
	}
}

// expr collects what an expression reads.
func (r *reads) expr(e ast.Expr, s *scope) {
	walk(e, s, func(e ast.Expr, s *scope) bool {
		if name := variableName(e, s); name != "" {
			r.variables[name] = true
			return false
		}
		if s.global(e) == varVariables {
			r.variables["*"] = true
			return false
		}
		if f, ok := filterOf(e); ok {
			r.filter(f, e, s)
			return false
		}
		if of := sizeOf(e); of != nil && s.path(of) == varLeaves {
			r.goesOver(of, s)
			return false
		}
		if path := s.path(e); path != "" {
			r.add(path)
			r.parts(e, s)
			return false
		}
		if e.Kind() == ast.ComprehensionKind {
			r.comprehension(e.AsComprehension(), s)
			return false
		}
		return true
	})
}

// parts collects what the expressions within a chain read: its keys, and the conditions
// of filters in it.
func (r *reads) parts(e ast.Expr, s *scope) {
	if f, ok := filterOf(e); ok {
		r.filter(f, e, s)
		return
	}
	if operand, _, key, ok := step(e); ok {
		r.parts(operand, s)
		if key != nil {
			r.expr(key, s)
		}
	}
}

// filter collects what choosing the elements reads; of those, nothing is read yet.
func (r *reads) filter(f filter, e ast.Expr, s *scope) {
	r.goesOver(f.of, s)
	r.expr(f.condition, s.comprehension(e.AsComprehension()))
}

// goesOver collects what going over a list or a map reads.
func (r *reads) goesOver(e ast.Expr, s *scope) {
	if path := s.path(e); path != "" {
		r.add(rangePath(path))
		r.parts(e, s)
		return
	}
	r.expr(e, s)
}

func (r *reads) comprehension(c ast.ComprehensionExpr, s *scope) {
	named := s.accumulator(c)
	result := s.bind(c.AccuVar(), named)
	if named != "" { // cel.bind: there is no loop
		r.parts(c.AccuInit(), s)
		r.expr(c.Result(), result)
		return
	}
	inner := s.comprehension(c)
	r.goesOver(c.IterRange(), s)
	r.expr(c.AccuInit(), s)
	r.expr(c.LoopCondition(), inner)
	r.expr(c.LoopStep(), inner)
	r.expr(c.Result(), result)
}

// sizeOf returns what an expression asks the size of, nil if it asks for none.
func sizeOf(e ast.Expr) ast.Expr {
	if args, ok := callArgs(e, "size", 1); ok {
		return args[0]
	}
	if e.Kind() == ast.CallKind && e.AsCall().IsMemberFunction() && e.AsCall().FunctionName() == "size" {
		return e.AsCall().Target()
	}
	return nil
}

// rangePath is what going over a list or a map reads besides what is read of its
// elements: how many there are, and the keys. The cheapest field of each tells.
func rangePath(path string) string {
	switch path {
	case varLeaves:
		return "leaves.sink"
	case pathArgLabels:
		return "labels.args.*.rank"
	}
	return path
}

// variableName returns the name of the policy's variable that an expression is, or "".
func variableName(e ast.Expr, s *scope) string {
	if operand, field, _, ok := step(e); ok && s.global(operand) == varVariables {
		return field
	}
	return ""
}

// mentions reports whether an expression has a path in it at which the field, or what is below it, is.
func (r *reads) mentions(field string) bool {
	for f := range r.fields {
		if f == field || strings.HasPrefix(f, field+".") || strings.HasPrefix(field, f+".") {
			return true
		}
	}
	return false
}

// tags reports whether tags may be read.
func (r *reads) tags() bool {
	for f := range r.fields {
		path := strings.Split(f, ".")
		last := path[len(path)-1]
		switch {
		case last == varTags, f == varLeaves, f == varCall, f == "call.state", f == "call.state.label":
			return true
		case path[0] == varLabels && labelObject.fields[last] == nil:
			return true
		}
	}
	return false
}
