package rego

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// reads finds the fields of the input that compiled rules may read. It follows what a
// variable stands for from its only definition, an equation with a reference, to the fields read of it,
// through arguments of functions too: in
//
//	some leaf in input.leaves; leaf.sink == "recipient"
//
// only leaves.sink is read. Whatever it does not understand reads all that the variable stands for.
// A field that it missed would be missing from the input: a hole; TestProjection holds it to that.
type reads struct {
	compiler *ast.Compiler
	found    map[string]bool
	visited  map[*ast.Rule]bool
	queue    []*ast.Rule
	params   map[*ast.Rule]map[ast.Var]map[string]bool // what arguments stand for, by function
	grown    bool
}

// readsOf returns the fields that evaluating the body may read, sorted.
func readsOf(c *ast.Compiler, body ast.Body) []string {
	return readsFrom(c, func(r *reads) { r.scope(body, nil, nil, nil) })
}

// readsOfRule returns the fields that evaluating one rule may read, sorted.
func readsOfRule(c *ast.Compiler, rule *ast.Rule) []string {
	return readsFrom(c, func(r *reads) { r.rule(rule) })
}

func readsFrom(c *ast.Compiler, start func(*reads)) []string {
	r := &reads{compiler: c, found: map[string]bool{}, params: map[*ast.Rule]map[ast.Var]map[string]bool{}}
	for r.grown = true; r.grown; { // until no argument stands for more
		r.grown = false
		r.visited, r.queue = map[*ast.Rule]bool{}, nil
		start(r)
		for len(r.queue) > 0 {
			rule := r.queue[0]
			r.queue = r.queue[1:]
			for ; rule != nil; rule = rule.Else {
				r.rule(rule)
			}
		}
	}
	return minimal(slices.Sorted(maps.Keys(r.found)))
}

// minimal drops paths below another.
func minimal(sorted []string) []string {
	var out []string
	for _, p := range sorted {
		if !slices.ContainsFunc(out, func(q string) bool { return q == "" || strings.HasPrefix(p, q+".") }) {
			out = append(out, p)
		}
	}
	return out
}

func (r *reads) rule(rule *ast.Rule) {
	var heads []*ast.Term
	bound := map[ast.Var]bool{}
	for _, a := range rule.Head.Args {
		ast.WalkVars(a, func(v ast.Var) bool { bound[v] = true; return false })
		if _, ok := a.Value.(ast.Var); !ok {
			heads = append(heads, a) // taken apart by matching
		}
	}
	if rule.Head.Key != nil {
		heads = append(heads, rule.Head.Key)
	}
	if rule.Head.Value != nil {
		heads = append(heads, rule.Head.Value)
	}
	for i, t := range rule.Head.Reference {
		if i > 0 {
			heads = append(heads, t)
		}
	}
	r.scope(rule.Body, heads, bound, r.params[rule])
}

// scope is one rule's body, or a query.
type scope struct {
	*reads
	stand   map[ast.Var]map[string]bool // paths that a variable stands for
	defined map[*ast.Expr]*ast.Term     // equations that define a variable, and what by: not a read
	counted map[ast.Value]bool          // comprehensions that are counted, and nothing else
}

func (r *reads) scope(body ast.Body, heads []*ast.Term, bound map[ast.Var]bool, params map[ast.Var]map[string]bool) {
	s := &scope{reads: r, stand: map[ast.Var]map[string]bool{}, defined: map[*ast.Expr]*ast.Term{}, counted: map[ast.Value]bool{}}
	maps.Copy(s.stand, params)
	uses := map[ast.Var]int{}
	count := func(x any) {
		ast.WalkVars(x, func(v ast.Var) bool { uses[v]++; return false })
	}
	count(body)
	for _, h := range heads {
		count(h)
	}
	s.countedOnly(body, uses)
	definitions := s.definitions(body, bound, uses)
	for grown := true; grown; { // a definition may build on another
		grown = false
		for v, e := range definitions {
			for _, path := range s.pathsOfTerm(s.defined[e]) {
				grown = s.standFor(v, path) || grown
			}
		}
		ast.NewGenericVisitor(func(x any) bool {
			if e, ok := x.(*ast.Every); ok && s.element(e) {
				grown = true
			}
			return false
		}).Walk(body)
	}
	for _, h := range heads {
		s.use(h)
	}
	s.use(body)
}

// definitions finds the variables that one equation defines, by a reference or by another such variable. Where there is a second
// equation, an argument of that name, or no use at all, the value itself matters, and it is none.
func (s *scope) definitions(body ast.Body, bound map[ast.Var]bool, uses map[ast.Var]int) map[ast.Var]*ast.Expr {
	equations := map[ast.Var][]*ast.Expr{}
	var pairs []*ast.Expr // of two variables
	ast.WalkExprs(body, func(e *ast.Expr) bool {
		if !e.IsEquality() || e.Negated || len(e.With) > 0 {
			return false
		}
		a, aok := e.Operand(0).Value.(ast.Var)
		b, bok := e.Operand(1).Value.(ast.Var)
		switch {
		case aok && bok:
			pairs = append(pairs, e)
		case aok:
			equations[a] = append(equations[a], e)
		case bok:
			equations[b] = append(equations[b], e)
		}
		return false
	})
	// Of two variables the one that nothing else gives a value is defined by the other.
	for again := true; again; {
		again = false
		for i, e := range pairs {
			if e == nil {
				continue
			}
			a, b := e.Operand(0).Value.(ast.Var), e.Operand(1).Value.(ast.Var)
			known := func(v ast.Var) bool { return bound[v] || len(equations[v]) > 0 }
			switch {
			case known(a) && !known(b):
				equations[b] = append(equations[b], e)
			case known(b) && !known(a):
				equations[a] = append(equations[a], e)
			case known(a) && known(b):
				equations[a], equations[b] = append(equations[a], e), append(equations[b], e)
			default:
				continue
			}
			pairs[i], again = nil, true
		}
	}
	out := map[ast.Var]*ast.Expr{}
	for v, list := range equations {
		if len(list) != 1 || bound[v] || uses[v] < 2 {
			continue
		}
		e := list[0]
		by := e.Operand(0)
		if by.Value.Compare(v) == 0 {
			by = e.Operand(1)
		}
		switch by.Value.(type) {
		case ast.Ref, ast.Var:
			out[v], s.defined[e] = e, by
		}
	}
	return out
}

// countedOnly finds the lists of which only the length matters: x = [leaf | …]; count(x, n), and no other x.
func (s *scope) countedOnly(body ast.Body, uses map[ast.Var]int) {
	lists := map[ast.Var]*ast.ArrayComprehension{}
	ast.WalkExprs(body, func(e *ast.Expr) bool {
		if e.IsEquality() && !e.Negated && len(e.With) == 0 {
			v, isVar := e.Operand(0).Value.(ast.Var)
			list, isList := e.Operand(1).Value.(*ast.ArrayComprehension)
			if isVar && isList && uses[v] == 2 {
				lists[v] = list
			}
		}
		return false
	})
	ast.WalkExprs(body, func(e *ast.Expr) bool {
		if e.IsCall() && e.Operator().String() == "count" && len(e.Operands()) > 0 {
			if v, ok := e.Operand(0).Value.(ast.Var); ok && lists[v] != nil {
				s.counted[lists[v]] = true
			}
		}
		return false
	})
}

func (s *scope) standFor(v ast.Var, path string) bool {
	if s.stand[v][path] {
		return false
	}
	set := maps.Clone(s.stand[v])
	if set == nil {
		set = map[string]bool{}
	}
	set[path] = true
	s.stand[v] = set
	return true
}

// element lets the value of an every stand for the elements of its domain, if it can be told what they are.
func (s *scope) element(e *ast.Every) bool {
	v, ok := e.Value.Value.(ast.Var)
	elements := s.elements(e.Domain)
	if !ok || elements == nil {
		return false
	}
	grown := false
	for _, path := range elements {
		grown = s.standFor(v, path) || grown
	}
	return grown
}

// elements returns what the elements of a domain are, nil if that cannot be told.
func (s *scope) elements(domain *ast.Term) []string {
	var out []string
	for _, path := range s.pathsOfTerm(domain) {
		element, ok := below(path, ast.VarTerm("_"))
		if !ok {
			return nil
		}
		out = append(out, element)
	}
	return out
}

// pathsOfTerm returns what a variable or reference stands for, if it is the input's.
func (s *scope) pathsOfTerm(t *ast.Term) []string {
	switch v := t.Value.(type) {
	case ast.Var:
		if v.Equal(ast.InputRootDocument.Value) {
			return []string{""}
		}
		return slices.Sorted(maps.Keys(s.stand[v]))
	case ast.Ref:
		return s.pathsOf(v)
	}
	return nil
}

// pathsOf returns the fields that a reference leads to, none if it does not begin in the input.
func (s *scope) pathsOf(ref ast.Ref) []string {
	var out []string
	for _, path := range s.pathsOfTerm(ref[0]) {
		for _, t := range ref[1:] {
			next, ok := below(path, t)
			if !ok {
				break
			}
			path = next
		}
		out = append(out, path)
	}
	return out
}

// below returns the path of what is below a path; false if the path itself must do.
func below(path string, t *ast.Term) (string, bool) {
	name, constant := t.Value.(ast.String)
	switch path {
	case "leaves": // of the list and of its elements alike
		if !constant {
			return path, true
		}
	case "labels.args", "history.count", "call.args", "principal.claims":
		if !constant || strings.ContainsAny(string(name), ".*") && path != "history.count" {
			return path + ".*", true
		}
		return path + "." + string(name), true
	}
	switch {
	case !constant, name == "":
		return path, false
	case strings.HasPrefix(path, "call.args."), strings.HasPrefix(path, "principal.claims."), strings.HasPrefix(path, "history.count."):
		return path, false // fine enough
	case path == "":
		return string(name), true
	}
	return path + "." + string(name), true
}

// use reads everything in a node, but for what definitions keep aside.
func (s *scope) use(x any) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.Expr:
			if by := s.defined[x]; by != nil {
				if ref, ok := by.Value.(ast.Ref); ok {
					for _, t := range ref[1:] {
						s.use(t)
					}
					s.rules(ref)
				}
				return true
			}
			for _, w := range x.With {
				if ref, ok := w.Target.Value.(ast.Ref); ok && ref[0].Equal(ast.InputRootDocument) {
					s.found[""] = true
				}
			}
			if x.IsCall() {
				s.call(x)
				for _, w := range x.With {
					s.use(w.Value)
				}
				return true
			}
		case *ast.Every:
			s.every(x)
			return true
		case *ast.Term:
			switch v := x.Value.(type) {
			case ast.Var:
				s.read(x)
			case *ast.ArrayComprehension:
				if head, ok := v.Term.Value.(ast.Var); ok && s.counted[v] && slices.Equal(slices.Collect(maps.Keys(s.stand[head])), []string{"leaves"}) {
					s.found["leaves.sink"] = true // how many there are
					s.use(v.Body)
					return true
				}
			case ast.Ref:
				s.read(x)
				s.rules(v)
				for _, t := range v[1:] {
					s.use(t)
				}
				return true
			case ast.Call:
				s.rules(v[0].Value.(ast.Ref))
				for _, t := range v[1:] {
					s.use(t)
				}
				return true
			}
		}
		return false
	}).Walk(x)
}

func (s *scope) read(t *ast.Term) {
	for _, path := range s.pathsOfTerm(t) {
		s.found[path] = true
	}
}

func (s *scope) every(e *ast.Every) {
	keyed := e.Key != nil && !isWildcard(e.Key) && usesVar(e.Body, e.Key)
	if keyed || s.elements(e.Domain) == nil || !usesVar(e.Body, e.Value) {
		s.use(e.Domain)
	}
	s.use(e.Body)
}

func isWildcard(t *ast.Term) bool {
	v, ok := t.Value.(ast.Var)
	return ok && v.IsWildcard()
}

func usesVar(x any, t *ast.Term) bool {
	found := false
	ast.WalkVars(x, func(v ast.Var) bool {
		found = found || v.Equal(t.Value)
		return found
	})
	return found
}

// call reads the operands of a builtin; those of a function become what its arguments stand for.
func (s *scope) call(e *ast.Expr) {
	operator := e.Operator()
	functions := s.compiler.GetRulesExact(operator)
	s.rules(operator)
	for i, t := range e.Operands() {
		paths := s.pathsOfTerm(t)
		if i == 0 && operator.String() == "count" && slices.Equal(paths, []string{"leaves"}) {
			s.found["leaves.sink"] = true // how many there are
			continue
		}
		if len(paths) == 0 || !s.arguments(functions, i, paths) {
			s.use(t)
		}
		if ref, ok := t.Value.(ast.Ref); ok {
			s.rules(ref)
			for _, t := range ref[1:] {
				s.use(t)
			}
		}
	}
}

// arguments lets the i-th argument of each function stand for the paths; false if one has no name for it.
func (s *scope) arguments(functions []*ast.Rule, i int, paths []string) bool {
	if len(functions) == 0 {
		return false
	}
	var all []*ast.Rule
	for _, f := range functions {
		for ; f != nil; f = f.Else {
			if i >= len(f.Head.Args) {
				return false
			}
			if _, ok := f.Head.Args[i].Value.(ast.Var); !ok {
				return false
			}
			all = append(all, f)
		}
	}
	for _, f := range all {
		v := f.Head.Args[i].Value.(ast.Var)
		if s.params[f] == nil {
			s.params[f] = map[ast.Var]map[string]bool{}
		}
		if s.params[f][v] == nil {
			s.params[f][v] = map[string]bool{}
		}
		for _, p := range paths {
			if !s.params[f][v][p] {
				s.params[f][v][p] = true
				s.grown = true
			}
		}
	}
	return true
}

// rules queues the rules that a reference may lead to.
func (s *scope) rules(ref ast.Ref) {
	if !ref[0].Equal(ast.DefaultRootDocument) {
		return
	}
	for _, rule := range s.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
		if !s.visited[rule] {
			s.visited[rule] = true
			s.queue = append(s.queue, rule)
		}
	}
}
