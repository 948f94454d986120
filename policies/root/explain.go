package root

import (
	"context"
	"errors"

	"callgate/policies"
	"callgate/policies/rego"
	"callgate/spec"
)

// Suite returns the suite of tests in Rego of everything that a host binds: files are those that
// no policy names.
func Suite(cfg Config, files ...string) (rego.Suite, []spec.Problem) {
	c, problems := cfg.rego()
	return rego.Suite{Config: c, Files: files}, problems
}

// Rules lists the rules of all policies, those in Rego first.
func (r *Root) Rules() []policies.Rule { return r.rules.Load().list() }

func (r *rules) list() []policies.Rule {
	return append(r.rego.Rules(), r.cel.Rules()...)
}

// Findings returns everything that fires for a request before it is combined: accepts that lift nothing, and what is
// in audit mode, too. The flow rule is not among it.
func (r *Root) Findings(ctx context.Context, req *policies.Request) (policies.Findings, error) {
	now := r.rules.Load()
	var found policies.Findings
	for _, e := range []policies.Engine{now.rego, now.cel} {
		bound, err := e.For(ctx, staticOf(req))
		if err == nil {
			err = bound.Evaluate(ctx, req, &found)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// Explain says of every rule whether it fires for a request, and why not. It is slow.
func (r *Root) Explain(ctx context.Context, req *policies.Request) ([]policies.Explanation, error) {
	now := r.rules.Load()
	out, regoErr := now.rego.Explain(ctx, staticOf(req), req)
	list, celErr := now.cel.Explain(ctx, staticOf(req), req)
	return append(out, list...), errors.Join(regoErr, celErr)
}

// Cover evaluates the rules in Rego for a request once more, to note which lines that takes.
func (r *Root) Cover(ctx context.Context, req *policies.Request, c *rego.Coverage) error {
	return r.rules.Load().rego.Cover(ctx, staticOf(req), req, c)
}

func staticOf(r *policies.Request) policies.Static {
	return policies.Static{
		Agent: r.Agent.Name, Principal: r.Principal.Sub, Groups: r.Principal.Groups,
		Kind: r.Call.Kind, Tool: r.Call.Tool, Effects: r.Call.Effects, Sinks: r.Call.Sinks,
	}
}
