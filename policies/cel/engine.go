// Package cel makes a [policies.Engine] of the CEL rules of Policy documents.
//
// Every expression is compiled once and checked against the request document, the
// policy's parameters and the schemas of the tools that it can apply to. For the calls of one
// tool, conditions on what is known before the call are settled ahead: rules that
// cannot apply are dropped, and of the others only what is left is evaluated, over the request
// itself. No map of the document is made.
//
// An expression has no clock, no network and no randomness, and its cost is bounded: by an
// estimate when it is loaded, and by counting when the request is large. Besides CEL's own functions it has
// optional values, cel.bind, macros with two variables, and the libraries for strings, lists, sets,
// math and network addresses (ip, cidr: parsing alone).
package cel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/google/cel-go/common/ast"

	"callgate/policies"
	"callgate/spec"
)

// engineName is the engine of reasons, and the Engine's name.
const engineName = "cel"

// Engine holds the CEL rules of any number of policies. It implements
// [policies.Engine], never changes and is safe for concurrent use.
type Engine struct {
	policies   []*policy
	tools      map[toolKey]*tool
	vocabulary []string
	revision   string
}

// New compiles the CEL parts of the policies; policies without one are left out. The
// tools are those that rules are checked against: with none, arguments have no types.
//
// Every problem is returned at once, with its place in the policy's file. If one of
// them is more than a warning the Engine is nil.
func New(docs []spec.Policy, tools []policies.ToolSchema) (*Engine, []spec.Problem) {
	env, err := sharedEnvironment()
	if err != nil {
		return nil, []spec.Problem{{Text: fmt.Sprintf("cel: %v", err)}}
	}
	e := &Engine{}
	if len(tools) > 0 {
		e.tools = toolTable(tools)
	}
	var with []*spec.Policy
	for i := range docs {
		if docs[i].CEL != nil {
			with = append(with, &docs[i])
		}
	}
	e.policies = make([]*policy, len(with))
	each(len(with), func(i int) {
		p := env.compile(with[i])
		e.policies[i] = p
		defer func() {
			if r := recover(); r != nil {
				p.report(with[i].Meta.Pos, "", "policy %s: cannot be checked: %v", with[i].Meta.Name, r)
			}
		}()
		p.checkTools(e.tools)
		p.lint(e.tools)
	})
	var problems []spec.Problem
	for _, p := range e.policies {
		problems = append(problems, p.problems...)
	}
	problems = spec.SortProblems(problems)
	if spec.Fatal(problems) {
		return nil, problems
	}
	e.vocabulary = e.tags()
	e.revision = revision(with, tools)
	return e, problems
}

// each calls f for 0 to n-1, on as many goroutines as there are processors.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Name returns "cel".
func (e *Engine) Name() string { return engineName }

// Revision implements [policies.Engine]. It does not depend on where the files are.
func (e *Engine) Revision() string { return e.revision }

// Tags returns the tags that the rules may look for, sorted: every text that
// their expressions and parameters name. A Core is told of them, see [policies.NewFields].
func (e *Engine) Tags() []string { return slices.Clone(e.vocabulary) }

func revision(docs []*spec.Policy, tools []policies.ToolSchema) string {
	type rule struct {
		spec.Rule
		Pos, When, Args, MessageExpr, ObligationsAt any // shadow what has a place
		Texts                                       [3]string
	}
	type doc struct {
		Name       string
		Match      spec.Match
		Audit, Own bool
		Params     map[string]any
		Texts      [][2]string
		Rules      []rule
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	put := func(v any) {
		if err := enc.Encode(v); err != nil { // data that JSON has no text for, such as NaN
			fmt.Fprintf(h, "%#v", v)
		}
	}
	for _, p := range docs {
		d := doc{Name: p.Meta.Name, Match: p.Match, Audit: p.Audit, Own: p.Own, Params: p.Params}
		for _, x := range slices.Concat(p.CEL.Match, []spec.Expr{{}}, p.CEL.Variables) {
			d.Texts = append(d.Texts, [2]string{x.Name, x.Text})
		}
		for _, r := range p.CEL.Rules {
			d.Rules = append(d.Rules, rule{Rule: r, Texts: [3]string{r.When.Text, r.Args.Text, r.MessageExpr.Text}})
		}
		put(d)
	}
	put(tools)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// For implements [policies.Engine].
func (e *Engine) For(ctx context.Context, s policies.Static) (policies.Rules, error) {
	rs := &rules{static: s, statics: newStatics(s, e.vocabulary)}
	f := newFacts(s, true)
	f.statics = rs.statics
	rs.sinks = f.sinks
	reads := newReads()
	for _, p := range e.policies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := p.bind(f, e.tools, reads)
		if err != nil {
			return nil, err
		}
		if b != nil {
			b.base = rs.vars
			rs.vars += len(b.variables)
			rs.bound = append(rs.bound, b)
		}
	}
	rs.reads = reads.sorted()
	return rs, nil
}

// tags returns the texts in the expressions and parameters of policies that read tags.
func (e *Engine) tags() []string {
	found := map[string]bool{}
	for _, p := range e.policies {
		all := p.expressions()
		if !slices.ContainsFunc(all, func(x *expr) bool { return x.reads.tags() }) {
			continue
		}
		for _, x := range all {
			walk(x.ast.Expr(), nil, func(e ast.Expr, _ *scope) bool {
				if s := literalText(e); s != "" {
					found[s] = true
				}
				return true
			})
		}
		addTexts(p.src.Params, found)
	}
	return slices.Sorted(maps.Keys(found))
}

func addTexts(v any, found map[string]bool) {
	switch v := v.(type) {
	case string:
		found[v] = true
	case []string:
		for _, s := range v {
			found[s] = true
		}
	case []any:
		for _, x := range v {
			addTexts(x, found)
		}
	case map[string]any:
		for k, x := range v {
			found[k] = true
			addTexts(x, found)
		}
	}
}
