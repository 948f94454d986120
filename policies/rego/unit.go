package rego

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/policies"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// unit is a set of modules that are compiled together, and their data.
type unit struct {
	packs      []*pack // by package
	compiler   *ast.Compiler
	store      storage.Store
	txn        storage.Transaction // for reading, kept open: nothing is ever written
	vocabulary policies.Vocabulary
	digest     string

	// conflicting are the rules that may have two values, an error. Inlined, each would
	// count by itself and the error be lost.
	conflicting []ast.Ref
}

// pack is one package callgate.policy.<name>.
type pack struct {
	name   string
	path   ast.Ref // data.callgate.policy.<name>
	policy *spec.Policy
	match  spec.Match // from the package's METADATA
	audit  bool
	sets   [setCount]map[string]rule // by id; nil if the package has no such set
	tools  []string                  // those that every rule of the sets asks for; nil: they do not
}

// rule is what is known of the rules of one id.
type rule struct {
	pos   spec.Position
	audit bool // all of them are in audit mode
}

// setKind is one of the sets of a policy's package.
type setKind int

const (
	denySet setKind = iota
	askSet
	allowSet
	acceptSet
	obligationSet
	setCount
)

var setNames = [setCount]string{"deny", "ask", "allow", "accept", "obligations"}

// load reads and compiles the host's policies, or those that are an agent's own.
func load(cfg Config, own bool) (*unit, []spec.Problem) {
	l := &loader{files: map[string]*file{}, owner: map[string]*spec.Policy{}, packs: map[string]*pack{}, data: map[string]any{}}
	var list []*spec.Policy
	for i := range cfg.Policies {
		if p := &cfg.Policies[i]; p.Rego != nil && p.Own == own {
			list = append(list, p)
		}
	}
	l.policies(list)
	host := cfg.Params
	if own {
		host = nil
	}
	params := paramsOf(list, host)
	if len(l.files) == 0 {
		return &unit{}, l.problems
	}
	l.shipped()
	l.mount(spec.Position{}, "params", params)
	callgate, _ := l.data["callgate"].(map[string]any)
	l.data["callgate"] = merge(callgate, map[string]any{"tools": toolData(cfg.Tools)})

	l.lint(cfg)
	u := &unit{compiler: l.compile(cfg.Tools)}
	if spec.Fatal(l.problems) {
		return &unit{}, l.problems
	}
	l.lintCost(u.compiler)
	for _, name := range slices.Sorted(maps.Keys(l.packs)) {
		u.packs = append(u.packs, l.packs[name])
	}
	for _, p := range u.packs {
		p.tools = toolsOf(u.compiler, p)
	}
	u.vocabulary = policies.NewVocabulary(l.vocabulary(params))
	u.conflicting = conflicting(u.compiler)
	raw, err := json.Marshal(l.data)
	if err != nil {
		return &unit{}, append(l.problems, spec.Problem{Text: fmt.Sprintf("params: %v", err)})
	}
	var data map[string]any
	if err := json.Unmarshal(raw, &data); err != nil {
		return &unit{}, append(l.problems, spec.Problem{Text: fmt.Sprintf("params: %v", err)})
	}
	u.store = inmem.NewFromObjectWithOpts(data, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false))
	if u.txn, err = u.store.NewTransaction(context.Background()); err != nil {
		return &unit{}, append(l.problems, spec.Problem{Text: fmt.Sprintf("rego: %v", err)})
	}
	u.digest = l.digest(u.packs, raw, own)
	return u, l.problems
}

// paramsOf is data.params: the host's over each policy's own.
func paramsOf(list []*spec.Policy, host map[string]any) map[string]any {
	params := merge(nil, host)
	for _, p := range list {
		if len(p.Params) > 0 {
			name := packageName(p.Meta.Name)
			given, _ := params[name].(map[string]any)
			params[name] = merge(p.Params, given)
		}
	}
	return params
}

// conflicting returns the rules of one value, functions too, whose definitions do not all give the same constant.
func conflicting(c *ast.Compiler) []ast.Ref {
	values := map[string]*ast.Term{}
	found := map[string]ast.Ref{}
	for _, m := range c.Modules {
		for _, r := range m.Rules {
			if r.Head.RuleKind() == ast.MultiValue || r.Default {
				continue
			}
			ref := r.Ref().GroundPrefix()
			key := ref.String()
			v := r.Head.Value
			switch old := values[key]; {
			case r.Else != nil || old != nil && !(old.Equal(v) && isData(v)):
				found[key] = ref
			case old == nil:
				values[key] = v
			}
		}
	}
	out := make([]ast.Ref, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

// digest covers all that the unit's answers depend on: modules, data, and what binds them.
func (l *loader) digest(packs []*pack, data []byte, own bool) string {
	parts := []string{fmt.Sprint("rego 1 own ", own), string(data)}
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		parts = append(parts, l.files[name].text)
	}
	for _, p := range packs {
		parts = append(parts, fmt.Sprintf("%s %s %+v %t", p.name, p.policy.Meta.Name, p.policy.Match, p.policy.Audit))
	}
	return digest(parts...)
}

// digest returns "sha256:…" over the parts and where they end.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// merge returns the union of two trees; where both have a leaf the second has its way.
func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		x, xok := out[k].(map[string]any)
		y, yok := v.(map[string]any)
		if xok && yok {
			v = merge(x, y)
		}
		out[k] = v
	}
	return out
}

// toolData is data.callgate.tools: each tool's effects, and the sink of each parameter and part.
func toolData(tools []policies.ToolSchema) map[string]any {
	out := map[string]any{}
	for _, t := range slices.Concat(policies.Crossings(), tools) {
		params := map[string]any{}
		for _, p := range t.Params {
			params[p.Name] = sinkName(p.Sink)
			for part, sink := range p.Sinks {
				params[p.Name+part] = sinkName(sink)
			}
		}
		effects := make([]any, len(t.Effects))
		for i, e := range t.Effects {
			effects[i] = e
		}
		out[t.Name] = map[string]any{"effects": effects, "params": params}
	}
	return out
}

func sinkName(s string) string {
	if s == "" {
		return policies.SinkNone
	}
	return s
}

// schemas are what modules are type-checked against: input for all of them, and each tool's
// arguments for those that ask for it as schema.tools.<name>, dots written as underscores.
func schemas(tools []policies.ToolSchema) (*ast.SchemaSet, []spec.Problem) {
	set := ast.NewSchemaSet()
	var input any
	if err := json.Unmarshal(policies.InputSchema(), &input); err != nil {
		return set, []spec.Problem{{Text: fmt.Sprintf("request schema: %v", err)}}
	}
	set.Put(ast.SchemaRootRef, input)
	set.Put(schemaRef("input"), input)
	var problems []spec.Problem
	for _, t := range tools {
		props := map[string]any{}
		for _, p := range t.Params {
			var schema any = map[string]any{}
			if p.Schema != nil {
				if err := json.Unmarshal(p.Schema, &schema); err != nil {
					problems = append(problems, spec.Problem{Text: fmt.Sprintf("tool %s: schema of %s: %v", t.Name, p.Name, err), Warn: true})
				}
			}
			props[p.Name] = schema
		}
		set.Put(schemaRef("tools", strings.NewReplacer(".", "_", "-", "_").Replace(t.Name)), map[string]any{
			"type": "object", "properties": props, "additionalProperties": false,
		})
	}
	return set, problems
}

func schemaRef(path ...string) ast.Ref {
	ref := ast.SchemaRootRef.Copy()
	for _, p := range path {
		ref = append(ref, ast.StringTerm(p))
	}
	return ref
}
