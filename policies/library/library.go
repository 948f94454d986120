// Package library is the policies that are shipped, and what their tests need: helpers, the decision in Rego,
// requests for tests. Each policy is a folder of its own: the rules, their tests, and the schema
// of its parameters, in which the defaults stand. They are Rego; policies/rego evaluates them.
//
// The host names the ones that it wants, and sets their parameters by name:
//
//	library: [base, mail]
//	params: {mail: {address_book: [bob@corp.example]}}
package library

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"callgate/spec"
)

//go:embed capabilities.json *.rego base egress files mail payments pii rate secrets shell
var files embed.FS

// Prefix begins the paths of shipped modules in [spec.Rego]: "library:base/base.rego".
const Prefix = "library:"

// FS returns the shipped files.
func FS() fs.FS { return files }

// Names returns the names of the shipped policies, sorted.
func Names() []string {
	var out []string
	entries, err := files.ReadDir(".")
	if err != nil { // the files are in the binary
		panic(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// Policies returns the named policies with the host's parameters for each, checked, over their
// defaults. Problems are where the host has it.
func Policies(host spec.Host) ([]spec.Policy, []spec.Problem) {
	var out []spec.Policy
	var problems []spec.Problem
	seen := map[string]bool{}
	for i, name := range host.Library {
		switch {
		case !slices.Contains(Names(), name):
			hint := ""
			if near := spec.Nearest(name, Names()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			problems = append(problems, spec.Problem{
				Pos: host.At(fmt.Sprintf("library[%d]", i)), Hint: hint,
				Text: fmt.Sprintf("library: no policy %q, want some of %s", name, strings.Join(Names(), ", ")),
			})
			continue
		case seen[name]:
			continue
		}
		seen[name] = true
		params, wrong := parameters(name, host.Params[name], host.At)
		problems = append(problems, wrong...)
		out = append(out, spec.Policy{
			Meta:   spec.Meta{Name: name, Pos: spec.Position{File: Prefix + name + "/" + name + ".rego", Line: 1, Column: 1}},
			Params: params,
			Rego:   &spec.Rego{Modules: []spec.Ref{{Path: Prefix + name + "/" + name + ".rego"}}},
		})
	}
	return out, problems
}
