package sample

import (
	"fmt"
	"slices"
	"strings"

	"callgate/engine/value"
	"callgate/policies"
	"callgate/spec"
)

// Book is an address book, for rules.
var Book = []any{"bob@corp.example", "carol@corp.example"}

// Rules are rules in both languages for benchmarks, of the kinds that people write.
type Rules struct {
	Modules []string    // package callgate.policy.p0, p1, …: two thirds of the rules
	CEL     []spec.Rule // the others
	Params  map[string]any

	// InRego is CEL once more, as the module of a package, to compare with an engine that knows Rego alone.
	InRego string
}

// MakeTools returns n tools: those of [Tools], and others with a recipient and a text.
func MakeTools(n int) []policies.ToolSchema {
	var out []policies.ToolSchema
	for _, name := range slices.Sorted(keys) {
		out = append(out, Tools[name])
	}
	for i := len(out); i < n; i++ {
		effects := [][]string{{"read"}, {"write"}, {"write", "egress"}}[i%3]
		out = append(out, policies.ToolSchema{Name: fmt.Sprintf("crm%d.put", i), Effects: effects, Params: []policies.ParamSchema{
			{Name: "to", Sink: "recipient", Schema: []byte(`{"type":"array","items":{"type":"string"}}`)},
			{Name: "text", Sink: "content", Schema: []byte(`{"type":"string"}`)},
			{Name: "amount", Schema: []byte(`{"type":"number"}`)},
		}})
	}
	return out[:n]
}

// MakeRules returns n rules over the tools, as many of each kind for each tool: an allow, denials by the address book, by labels and by
// tags, asks; some for all tools that send.
func MakeRules(tools []policies.ToolSchema, n int) Rules {
	out := Rules{Params: map[string]any{"book": Book}}
	var module, inRego strings.Builder
	packages := max(len(tools)/5, 1) // five tools share a package
	made := 0
	for p := range packages {
		module.Reset()
		fmt.Fprintf(&module, "package callgate.policy.p%d\n\nimport rego.v2\n\n", p)
		fmt.Fprintf(&module, "allow contains %q if input.call.tool in {%s}\n\n", fmt.Sprintf("p%d.allow", p), quotedNames(tools, p, packages))
		made++
		for i := p; made < n*(p+1)/packages; i += packages {
			tool, id := tools[i%len(tools)].Name, fmt.Sprintf("p%d.%d", p, i)
			switch round := i / packages; {
			case round%3 == 2:
				r, text := celRule(id, tool, round/3)
				out.CEL = append(out.CEL, r)
				inRego.WriteString(text)
			case round == 0 && p < 5:
				module.WriteString(denySenders(id))
			default:
				module.WriteString(regoRule(id, tool, round))
			}
			made++
		}
		out.Modules = append(out.Modules, module.String())
	}
	out.InRego = "package callgate.policy.cel\n\nimport rego.v2\n\n" + inRego.String()
	return out
}

func quotedNames(tools []policies.ToolSchema, p, packages int) string {
	var names []string
	for i := p; i < len(tools); i += packages {
		names = append(names, fmt.Sprintf("%q", tools[i].Name))
	}
	return strings.Join(names, ", ")
}

// denySenders is a rule for every tool that sends.
func denySenders(id string) string {
	return fmt.Sprintf(`deny contains {"id": %q, "args": [leaf.path]} if {
	"recipient" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "recipient"
	leaf.rank < 2
	not leaf.norm in data.params.book
}

`, id)
}

func regoRule(id, tool string, round int) string {
	switch round % 4 {
	case 0:
		return fmt.Sprintf(`deny contains {"id": %q, "args": [leaf.path]} if {
	input.call.tool == %q
	some leaf in input.leaves
	leaf.sink == "recipient"
	leaf.norm == "x%d@evil.example"
}

`, id, tool, round)
	case 1:
		return fmt.Sprintf("deny contains %q if {\n\tinput.call.tool == %q\n\tinput.labels.program.rank < 2\n\tinput.session.turn > %d\n}\n\n", id, tool, round)
	case 2:
		return fmt.Sprintf("deny contains {\"id\": %q, \"args\": [leaf.path]} if {\n\tinput.call.tool == %q\n\tsome leaf in input.leaves\n\t\"secret\" in leaf.tags\n\tleaf.sink != \"secret\"\n}\n\n", id, tool)
	}
	return fmt.Sprintf("ask contains %q if {\n\tinput.call.tool == %q\n\tinput.call.args.amount > %d\n}\n\n", id, tool, 100+round)
}

// celRule returns a rule, and the same in Rego.
func celRule(id, tool string, round int) (spec.Rule, string) {
	r := spec.Rule{ID: id, Action: "deny"}
	var text string
	switch round % 3 {
	case 0:
		r.When.Text = fmt.Sprintf("call.tool == %q && labels.program.rank < level.user && leaves.exists(l, l.sink == 'content' && l.rank < level.internal)", tool)
		text = "input.labels.program.rank < 2\n\tsome leaf in input.leaves\n\tleaf.sink == \"content\"\n\tleaf.rank < 1"
	case 1:
		r.When.Text = fmt.Sprintf("call.tool == %q && 'pii' in tags && session.turn > %d", tool, round)
		text = fmt.Sprintf("\"pii\" in input.tags\n\tinput.session.turn > %d", round)
	default:
		r.When.Text = fmt.Sprintf("call.tool == %q && leaves.exists(l, l.sink == 'recipient' && l.host == 'h%d.example')", tool, round)
		text = fmt.Sprintf("some leaf in input.leaves\n\tleaf.sink == \"recipient\"\n\tleaf.host == \"h%d.example\"", round)
	}
	return r, fmt.Sprintf("deny contains %q if {\n\tinput.call.tool == %q\n\t%s\n}\n\n", id, tool, text)
}

// Sends is a call of mail.send that these rules allow, to bob and carol.
func Sends() *policies.Request {
	return Call("mail.send",
		value.Field{Name: "to", Of: value.ListOf(Prompt, value.StringOf("bob@corp.example", Prompt), value.StringOf("carol@corp.example", Prompt))},
		value.Field{Name: "subject", Of: value.StringOf("the offer", Prompt)},
		value.Field{Name: "body", Of: value.StringOf("a text of some length, from a mail", Mail)},
	)
}
