package cel

import (
	"fmt"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/interpreter"

	"callgate/policies"
)

// binding specialises one policy for calls with known static properties.
type binding struct {
	*policy
	reads *reads

	tools map[toolKey]*tool
	tool  *tool  // whose types arguments have; nil: dyn
	used  []bool // variables

	typed *typed // made when an expression needs it
}

// typed is what expressions that ask for arguments are checked and planned with.
type typed struct {
	*toolTypes
	interpreter interpreter.Interpreter
	env         *celgo.Env
	checked     []*ast.AST        // the variables
	failed      map[*expr]finding // of them
}

// bind returns what is left of the policy for calls of which the facts hold, nil if nothing is, and adds
// what that reads.
func (p *policy) bind(f *facts, tools map[toolKey]*tool, r *reads) (*bound, error) {
	if !policies.Matches(p.src.Match, f.Static) {
		return nil, nil
	}
	b := &binding{policy: p, reads: r, tools: tools, used: make([]bool, len(p.variables))}
	b.tool = tools[toolKey{f.Kind, f.Tool}]
	out := &bound{policy: p, variableType: p.types.own[typeVariables], callType: documentTypes[typeCall]}

	// Settle first: most policies have nothing to say of most tools.
	type kept struct {
		r    *rule
		left ast.Expr // nil: always
	}
	var conditions []ast.Expr
	for _, c := range p.conditions {
		settled, left := p.settleExpr(c, f)
		if settled == never {
			return nil, nil
		}
		conditions = append(conditions, left)
	}
	var keep []kept
	for _, r := range p.rules {
		if settled, left := p.settleExpr(r.when, f); settled != never {
			keep = append(keep, kept{r, left})
		}
	}
	if len(keep) == 0 {
		return nil, nil
	}

	for i, left := range conditions {
		c := p.conditions[i]
		if left == nil {
			continue
		}
		test, err := b.program(c, left)
		if err != nil {
			return nil, err
		}
		out.conditions = append(out.conditions, boundCondition{conditionID(p, c, i), c, test})
	}
	for _, k := range keep {
		r := boundRule{rule: k.r, obligations: obligationsOf(p, k.r)}
		var err error
		if k.left != nil {
			if r.when, err = b.program(k.r.when, k.left); err != nil {
				return nil, err
			}
		}
		if r.message, err = b.whole(k.r.message); err != nil {
			return nil, err
		}
		if r.args, err = b.whole(k.r.args); err != nil {
			return nil, err
		}
		if k.r.src.EachLeaf {
			b.reads.add("leaves.path")
		}
		out.rules = append(out.rules, r)
	}
	if err := b.bindVariables(out); err != nil {
		return nil, err
	}
	if b.typed != nil {
		out.callType, out.variableType = b.typed.call, b.typed.variables
	}
	return out, nil
}

// conditionID is the id of the denial when a match condition cannot be evaluated.
func conditionID(p *policy, c *expr, i int) string {
	if c.src.Name != "" {
		return p.src.Meta.Name + ".match." + c.src.Name
	}
	return fmt.Sprintf("%s.match.%d", p.src.Meta.Name, i+1)
}

// types returns the types of the tool. The parameters of all other tools are known to
// be absent.
func (b *binding) types() (*typed, error) {
	if b.typed != nil {
		return b.typed, nil
	}
	others := map[string]bool{}
	for _, o := range b.tools {
		for _, name := range o.args.object.order {
			others[name] = true
		}
	}
	t := &typed{toolTypes: b.typesFor(b.tool, others), failed: map[*expr]finding{}}
	t.interpreter = b.policy.env.interpreter(t.toolTypes.types)
	var err error
	if t.env, err = b.policy.env.with(t.toolTypes.types); err != nil {
		return nil, err
	}
	all := make([]bool, len(b.policy.variables))
	for i := range all {
		all[i] = true
	}
	t.checked = b.declareVariables(t.toolTypes, all, func(x *expr, checked *ast.AST, fs []finding) {
		if checked == nil && len(fs) > 0 { // it matters if a rule uses it
			t.failed[x] = fs[0]
		}
	})
	b.typed = t
	return t, nil
}

func (b *binding) whole(x *expr) (*program, error) {
	if x == nil {
		return nil, nil
	}
	return b.program(x, x.ast.Expr())
}

// program returns the program of what is left of an expression.
func (b *binding) program(x *expr, left ast.Expr) (*program, error) {
	if err := b.note(left); err != nil {
		return nil, err
	}
	if !x.asksArg || b.tool == nil {
		if left == x.ast.Expr() {
			return x.plan.prepare()
		}
		return prepared(newProgram(x, part(x.ast, left), b.interpreter, b.checker))
	}
	t, err := b.types()
	if err != nil {
		return nil, err
	}
	checked, fs := t.check(x, left)
	if len(fs) > 0 {
		return nil, x.problem(fs[0])
	}
	return prepared(newProgram(x, checked, t.interpreter, t.env))
}

func prepared(p *program, err error) (*program, error) {
	if err != nil {
		return nil, err
	}
	return p.prepare()
}

// bindVariables makes the programs of the variables that are used.
func (b *binding) bindVariables(out *bound) error {
	out.variables = make([]*program, len(b.policy.variables))
	for i, v := range b.policy.variables {
		if !b.used[i] {
			continue
		}
		var err error
		if out.variables[i], err = b.variable(i, v); err != nil {
			return err
		}
	}
	return nil
}

func (b *binding) variable(i int, v *expr) (*program, error) {
	if !v.asksArg || b.tool == nil {
		return v.plan.prepare()
	}
	t, err := b.types()
	if err != nil {
		return nil, err
	}
	if f, failed := t.failed[v]; failed {
		return nil, v.problem(f)
	}
	return prepared(newProgram(v, t.checked[i], t.interpreter, t.env))
}

// note adds what an expression reads, itself and through variables.
func (b *binding) note(e ast.Expr) error {
	r := newReads()
	r.expr(e, nil)
	for f := range r.fields {
		b.reads.fields[f] = true
	}
	for i, v := range b.policy.variables {
		if (r.variables["*"] || r.variables[v.src.Name]) && !b.used[i] {
			b.used[i] = true
			if err := b.note(v.ast.Expr()); err != nil {
				return err
			}
		}
	}
	return nil
}
