// Package root makes one policy decision point of everything that a host binds: its own policies,
// the shipped ones that it names, and what agents add, in both languages.
//
// It is the host that decides. An agent's policies can only deny or ask. Without any
// policy everything is denied.
package root

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/policies"
	"callgate/policies/cel"
	"callgate/policies/library"
	"callgate/policies/rego"
	"callgate/spec"
)

// Config is what a [Root] is made of.
type Config struct {
	// Host names the shipped policies and their parameters; nil: none.
	Host *spec.Host

	// Agent is the name of the agent that has the tools; "": it is not known.
	Agent string

	// Policies are the host's, and those of agents' own, which are marked so.
	Policies []*spec.Policy

	// Tools are the granted tools, for checking rules against and for data.callgate.tools.
	Tools []policies.ToolSchema
}

// Root is a [policies.PDP] whose rules can be replaced while it is used. It is safe for
// concurrent use.
type Root struct {
	rules atomic.Pointer[rules]
}

// rules are everything that was loaded together.
type rules struct {
	core *policies.Core
	rego *rego.Engine
	cel  *cel.Engine
}

// Load compiles and checks all policies. Every problem is returned, sorted; with one that is
// [spec.Fatal] the Root is nil.
func Load(ctx context.Context, cfg Config) (*Root, []spec.Problem) {
	built, problems := build(ctx, cfg)
	if built == nil {
		return nil, problems
	}
	r := &Root{}
	r.rules.Store(built)
	return r, problems
}

// Reload replaces the rules at once: a decision is made under the old ones or the new ones, never
// under some of each. With a problem that is [spec.Fatal] the old ones stay.
func (r *Root) Reload(ctx context.Context, cfg Config) []spec.Problem {
	built, problems := build(ctx, cfg)
	if built != nil {
		r.rules.Store(built)
	}
	return problems
}

// Decide implements [policies.PDP]. The decision carries the revision under which it was made.
func (r *Root) Decide(ctx context.Context, req *policies.Request) (policies.Decision, error) {
	return r.rules.Load().core.Decide(ctx, req)
}

// Revision implements [policies.PDP].
func (r *Root) Revision() string { return r.rules.Load().core.Revision() }

func build(ctx context.Context, cfg Config) (*rules, []spec.Problem) {
	forRego, problems := cfg.rego()
	docs := forRego.Policies
	var inRego *rego.Engine
	var inCEL *cel.Engine
	var ofRego, ofCEL []spec.Problem
	defer runtime.KeepAlive(reserve(docs))
	var both sync.WaitGroup
	both.Go(func() {
		defer failed("rego", &ofRego)
		inRego, ofRego = rego.New(forRego)
	})
	both.Go(func() {
		defer failed("cel", &ofCEL)
		inCEL, ofCEL = cel.New(withParams(docs, forRego.Params), cfg.Tools)
	})
	both.Wait()
	problems = spec.SortProblems(slices.Concat(problems, ofRego, ofCEL))
	if spec.Fatal(problems) {
		return nil, problems
	}
	core, err := policies.New(policies.Config{
		Engines: []policies.Engine{inRego, inCEL},
		Tags:    append(inRego.Tags(), inCEL.Tags()...),
	})
	if err != nil {
		return nil, append(problems, spec.Problem{Text: err.Error()})
	}
	out := &rules{core, inRego, inCEL}
	return out, spec.SortProblems(slices.Concat(problems, askedInVain(out.list()), warm(ctx, cfg, docs, core)))
}

// reserve returns memory, which nothing is written to, of about the size that the policies will take: the collector
// starts when the heap has doubled, and would go over thousands of rules a dozen times while they are loaded.
func reserve(docs []spec.Policy) []byte {
	const most, least = 64 << 20, 4 << 20 // bytes
	size := 0
	for _, p := range docs {
		if p.CEL != nil {
			size += len(p.CEL.Rules) * 8 << 10
		}
		if p.Rego == nil {
			continue
		}
		for _, ref := range p.Rego.Modules {
			filepath.WalkDir(ref.Path, func(_ string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return nil // whoever reads it says what is wrong
				}
				if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
					size += int(min(info.Size(), most)) * 40
				}
				return nil
			})
		}
	}
	if size < least {
		return nil
	}
	return make([]byte, min(size, most))
}

// failed turns a panic into a problem: rules that an engine stumbles over are not to take the process down.
func failed(engine string, problems *[]spec.Problem) {
	if p := recover(); p != nil {
		*problems = append(*problems, spec.Problem{Text: fmt.Sprintf("%s: the rules cannot be loaded: panic: %v", engine, p)})
	}
}

// rego returns what the engine of Rego is made of: the policies are those of the library that the host names, and
// those of the Config.
func (cfg Config) rego() (rego.Config, []spec.Problem) {
	var host spec.Host
	if cfg.Host != nil {
		host = *cfg.Host
	}
	docs, problems := library.Policies(host)
	for _, p := range cfg.Policies {
		docs = append(docs, *p)
	}
	return rego.Config{Policies: docs, Params: host.Params, Tools: cfg.Tools}, slices.Concat(problems, names(docs), mistyped(docs, cfg.Tools))
}

// names reports a name that two policies have: reasons and parameters go by it.
func names(docs []spec.Policy) (problems []spec.Problem) {
	first := map[string]spec.Position{}
	for _, p := range docs {
		at, twice := first[p.Meta.Name]
		if !twice {
			first[p.Meta.Name] = p.Meta.At()
			continue
		}
		problems = append(problems, spec.Problem{Pos: p.Meta.At(), Text: fmt.Sprintf("Policy %q: declared twice, first at %s", p.Meta.Name, at)})
	}
	return problems
}

// mistyped warns of a policy that matches a tool which is not granted, and nearly is: its rules would
// never be looked at. Another agent may have a tool of that name.
func mistyped(docs []spec.Policy, tools []policies.ToolSchema) (problems []spec.Problem) {
	var granted []string
	for _, t := range tools {
		granted = append(granted, t.Name)
	}
	for _, p := range docs {
		for _, name := range p.Match.Tools {
			near := spec.Nearest(name, granted)
			if near == "" || strings.Contains(name, "*") || slices.Contains(granted, name) {
				continue
			}
			problems = append(problems, spec.Problem{Pos: p.Meta.At(), Warn: true,
				Text: fmt.Sprintf("policy %q: match.tools: %q is none of the granted tools", p.Meta.Name, name), Hint: fmt.Sprintf("did you mean %q?", near)})
		}
	}
	return problems
}

// withParams lets CEL's params be the host's under the policy's own; an agent's own policies see
// theirs alone.
func withParams(docs []spec.Policy, host map[string]any) []spec.Policy {
	out := slices.Clone(docs)
	for i := range out {
		if out[i].Own || out[i].CEL == nil {
			continue
		}
		params := maps.Clone(host)
		if params == nil {
			params = map[string]any{}
		}
		maps.Copy(params, out[i].Params)
		out[i].Params = params
	}
	return out
}

// warmFor bounds how long tools' rules are specialised when they are loaded; the others' are at their first call.
const warmFor = 100 * time.Millisecond

// warm specialises the rules of the granted tools, so that the first call does not wait, and warns of
// tools to which no policy applies, and of toolsets of which no rule can allow a single tool: that some tools of a set are not
// allowed is what policies are for.
func warm(ctx context.Context, cfg Config, docs []spec.Policy, core *policies.Core) (problems []spec.Problem) {
	var unbound, unallowed []string
	allowed := map[string]bool{} // toolsets, by what stands before the name's last dot
	var principal policies.Principal
	if cfg.Host != nil {
		principal = policies.Principal(cfg.Host.Principal)
	}
	for _, t := range cfg.Tools {
		if !slices.ContainsFunc(docs, func(p spec.Policy) bool { return !p.Own && policies.MatchesTool(p.Match, t) }) {
			unbound = append(unbound, t.Name)
		}
	}
	may := make([]bool, len(cfg.Tools)) // as far as is known: a policy that matches the agent may, and one that was not looked at
	start := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(cfg.Tools), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(cfg.Tools); i = next.Add(1) - 1 {
				t := cfg.Tools[i]
				may[i] = slices.Contains(unbound, t.Name) || time.Since(start) > warmFor || ctx.Err() != nil || core.Warm(ctx, policies.Static{
					Agent: cfg.Agent, Principal: principal.Sub, Groups: principal.Groups, Kind: policies.KindTool,
					Tool: t.Name, Effects: t.Effects, Sinks: t.SinkKinds(),
				}) || cfg.Agent == ""
			}
		})
	}
	all.Wait()
	for i, t := range cfg.Tools {
		switch {
		case slices.Contains(unbound, t.Name):
		case may[i]:
			allowed[setOf(t.Name)] = true
		default:
			unallowed = append(unallowed, t.Name)
		}
	}
	unallowed = slices.DeleteFunc(unallowed, func(name string) bool { return allowed[setOf(name)] })
	if len(docs) == 0 {
		return nil
	}
	pos := docs[0].Meta.Pos
	if cfg.Host != nil {
		pos = cfg.Host.Meta.Pos
	}
	for what, tools := range map[string][]string{"no policy applies to ": unbound, "no rule allows ": unallowed} {
		if len(tools) > 0 {
			problems = append(problems, spec.Problem{Pos: pos, Warn: true, Text: what + strings.Join(tools, ", ") + ": every call will be denied"})
		}
	}
	return problems
}

func setOf(tool string) string { return tool[:max(strings.LastIndexByte(tool, '.'), 0)] }

// askedInVain warns of asks if no rule allows anything.
func askedInVain(rules []policies.Rule) []spec.Problem {
	allows := func(r policies.Rule) bool { return r.Action == "allow" && !r.Audit }
	i := slices.IndexFunc(rules, func(r policies.Rule) bool { return r.Action == "ask" && !r.Audit })
	if i < 0 || slices.ContainsFunc(rules, allows) {
		return nil
	}
	return []spec.Problem{{Pos: rules[i].Pos, Warn: true, Text: rules[i].ID + ": no rule allows anything",
		Hint: "an ask qualifies a grant: without it the call is denied and nobody is asked"}}
}
