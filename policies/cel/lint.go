package cel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"callgate/engine/label"
	"callgate/policies"
	"callgate/spec"
)

// A vocabulary is the closed set of words that a field of the request has.
type vocabulary struct {
	noun  string
	words []string
}

var (
	kindWords = vocabulary{"kind of call", []string{
		policies.KindTool, policies.KindBuiltin, policies.KindProgram, policies.KindObserve,
		policies.KindAnswer, policies.KindModel, policies.KindEndorse, policies.KindDeclassify,
	}}
	effectWords = vocabulary{"effect", []string{
		policies.EffectRead, policies.EffectWrite, policies.EffectEgress, policies.EffectDestructive,
	}}
	sinkWords = vocabulary{"kind of sink", []string{
		policies.SinkNone, policies.SinkRecipient, policies.SinkAccount, policies.SinkURL, policies.SinkPath, policies.SinkWord,
		policies.SinkQuery, policies.SinkContent, policies.SinkSecret, policies.SinkModel, policies.SinkControl,
	}}
	trustWords = vocabulary{"level of trust", []string{
		label.Untrusted.String(), label.Internal.String(), label.User.String(), label.System.String(),
	}}
	modeWords = vocabulary{"mode", []string{"react", "plan", "program", "repl"}}
)

// vocabularyOf returns the words that a field, or an element of it, may be; nil for any.
func vocabularyOf(path string) *vocabulary {
	switch path {
	case "call.kind":
		return &kindWords
	case "call.effects", "agent.effects":
		return &effectWords
	case "call.sinks", "leaves.sink":
		return &sinkWords
	case "session.mode":
		return &modeWords
	}
	if strings.HasSuffix(path, ".trust") && (strings.HasPrefix(path, "labels.") || path == "leaves.trust") {
		return &trustWords
	}
	return nil
}

// lint reports what checking types does not find: words that a field never has, tools that are
// nearly but not quite there, rules that cannot fire, conditions that nothing fulfils.
func (p *policy) lint(tools map[toolKey]*tool) {
	var names []string
	for k := range tools {
		names = append(names, k.name)
	}
	slices.Sort(names)
	for _, x := range p.expressions() {
		if x.ok {
			x.lintWords(names)
			x.lintParams()
			x.lintWhole()
		}
	}
	for _, r := range p.rules {
		if !r.when.ok {
			continue
		}
		if c := r.when.condition; c != nil && c.op == isConst && c.value == never {
			r.when.report(finding{id: r.when.ast.Expr().ID(), text: "never fires", warn: true})
		}
		if r.src.Action == actionAllow || r.src.Action == actionAccept {
			r.when.lintVacuous()
		}
		if r.src.Action == actionAccept && r.args != nil && r.args.ok {
			p.lintNowhere(r, tools)
		}
	}
}

// lintNowhere warns of an accept for a path that is written down, if none of the tools that it can be about has such a parameter.
func (p *policy) lintNowhere(r *rule, tools map[toolKey]*tool) {
	match := p.src.Match
	match.Agents, match.Principals = nil, nil // whoever they are
	var schemas []policies.ToolSchema
	for _, t := range tools {
		if !policies.Matches(match, t.static) {
			continue
		}
		if settled, _ := p.settleExpr(r.when, newFacts(t.static, false)); settled != never {
			schemas = append(schemas, t.schema)
		}
	}
	if len(schemas) == 0 || r.args.ast.Expr().Kind() != ast.ListKind {
		return
	}
	for _, e := range r.args.ast.Expr().AsList().Elements() {
		path := literalText(e)
		if param, near, lacks := policies.Lacks(path, schemas); path != "" && lacks {
			r.args.report(finding{id: e.ID(), text: fmt.Sprintf("no tool that this is about has a parameter %s: nothing is accepted", param), hint: near, warn: true})
		}
	}
}

func (x *expr) lintWords(tools []string) {
	walk(x.ast.Expr(), nil, func(e ast.Expr, s *scope) bool {
		var path string
		var values []string
		if subject, of, _, ok := membership(e); ok {
			path, values = s.path(subject), of
		} else if args, ok := callArgs(e, operators.In, 2); ok && literalText(args[0]) != "" {
			path, values = s.path(args[1]), []string{literalText(args[0])}
		} else if operand, field, _, ok := step(e); ok && s.path(operand) == pathCount {
			path, values = pathCount, []string{field}
		}
		if path == "" {
			return true
		}
		for _, v := range values {
			switch words := vocabularyOf(path); {
			case words != nil && !slices.Contains(words.words, v):
				f := finding{id: literal(e, v), text: fmt.Sprintf("'%s' is no %s", v, words.noun), hint: nearestOf(v, words.words)}
				if f.hint == "" {
					f.hint = "one of " + strings.Join(words.words, ", ")
				}
				x.report(f)
			case (path == "call.tool" || path == pathCount) && v != "" && !slices.Contains(tools, v):
				if near := spec.Nearest(v, tools); near != "" {
					x.report(finding{id: literal(e, v), text: fmt.Sprintf("no tool '%s'", v), hint: nearestOf(v, tools), warn: true})
				}
			}
		}
		return true
	})
}

// lintParams reports keys that a parameter does not have, where its type is that of a map.
func (x *expr) lintParams() {
	walk(x.ast.Expr(), nil, func(e ast.Expr, s *scope) bool {
		operand, key, _, ok := plainStep(e)
		if !ok {
			return true
		}
		path, ok := paramPath(operand, s)
		if d, is := paramAt(x.params, path).(*dict); ok && is && !slices.Contains(d.keys(), key) {
			x.report(finding{
				id: e.ID(), text: fmt.Sprintf("unknown parameter 'params.%s'", strings.Join(append(path, key), ".")), hint: nearestOf(key, d.keys()),
			})
		}
		return true
	})
}

// lintWhole warns of an expression that reads all of a label, or whole leaves.
func (x *expr) lintWhole() {
	for _, field := range x.reads.sorted() {
		parts := strings.Split(field, ".")
		switch {
		case field == varLeaves, field == "call.state.label":
		case parts[0] == varLabels && (len(parts) < 3 || len(parts) == 3 && parts[1] == "args"):
		default:
			continue
		}
		x.report(finding{
			id: x.ast.Expr().ID(), text: fmt.Sprintf("all of %s is read, sources too: two calls hardly ever agree in that, so that no decision is remembered", field),
			hint: "name the fields that matter", warn: true,
		})
		return
	}
}

// paramPath returns the path of the parameter that an expression is.
func paramPath(e ast.Expr, s *scope) ([]string, bool) {
	if s.global(e) == varParams {
		return nil, true
	}
	operand, field, _, ok := plainStep(e)
	if !ok {
		return nil, false
	}
	path, ok := paramPath(operand, s)
	return append(path, field), ok
}

// literal returns the id of a text in an expression, or of the expression.
func literal(e ast.Expr, text string) int64 {
	id := e.ID()
	walk(e, nil, func(e ast.Expr, _ *scope) bool {
		if literalText(e) == text {
			id = e.ID()
		}
		return true
	})
	return id
}

// lintVacuous warns of a grant that holds for an empty list: all(…) of one that may have no elements,
// where the condition does not ask for any.
func (x *expr) lintVacuous() {
	var all []ast.Expr
	asks := false
	walk(x.ast.Expr(), nil, func(e ast.Expr, s *scope) bool {
		if q, ok := quantifierOf(e); ok {
			path := s.path(q.of)
			_, filtered := filterOf(q.of)
			switch {
			case !q.all:
				asks = true
			case filtered || path != varLeaves && path != pathArgLabels && path != "":
				all = append(all, e)
			}
		}
		asks = asks || e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "size"
		return true
	})
	for _, e := range all {
		if !asks {
			x.report(finding{id: e.ID(), text: "all(…) of an empty list is true", hint: "ask for size(…) > 0 too", warn: true})
		}
	}
}
