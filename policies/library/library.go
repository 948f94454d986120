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
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"callgate/spec"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
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
// defaults. Problems are at the host's place.
func Policies(host spec.Host) ([]spec.Policy, []spec.Problem) {
	var out []spec.Policy
	var problems []spec.Problem
	fail := func(hint, format string, args ...any) {
		problems = append(problems, spec.Problem{Pos: host.Meta.Pos, Text: fmt.Sprintf(format, args...), Hint: hint})
	}
	seen := map[string]bool{}
	for _, name := range host.Library {
		switch {
		case !slices.Contains(Names(), name):
			hint := ""
			if near := spec.Nearest(name, Names()); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			fail(hint, "library: no policy %q, want some of %s", name, strings.Join(Names(), ", "))
			continue
		case seen[name]:
			continue
		}
		seen[name] = true
		params, err := parameters(name, host.Params[name])
		for _, text := range err {
			fail("", "params.%s%s", name, text)
		}
		out = append(out, spec.Policy{
			Meta:   spec.Meta{Name: name, Pos: spec.Position{File: Prefix + name + "/" + name + ".rego", Line: 1, Column: 1}},
			Params: params,
			Rego:   &spec.Rego{Modules: []spec.Ref{{Path: Prefix + name + "/" + name + ".rego"}}},
		})
	}
	return out, problems
}

// parameters returns a policy's defaults with what was given over them, and what is wrong with that.
func parameters(name string, given any) (map[string]any, []string) {
	raw, schema, err := paramsSchema(name)
	if err != nil { // the files are in the binary
		panic(err)
	}
	out := map[string]any{}
	for key, p := range raw["properties"].(map[string]any) {
		out[key] = p.(map[string]any)["default"]
	}
	if given == nil {
		return out, nil
	}
	// As JSON has it, so that numbers and lists are what the schema knows.
	b, err := json.Marshal(given)
	if err != nil {
		return out, []string{": " + err.Error()}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return out, []string{": " + err.Error()}
	}
	if err := schema.Validate(doc); err != nil {
		return out, explain(err)
	}
	object, ok := given.(map[string]any)
	if !ok {
		return out, []string{": want an object"}
	}
	for key, v := range object {
		out[key] = v
	}
	return out, nil
}

func paramsSchema(name string) (map[string]any, *jsonschema.Schema, error) {
	b, err := files.ReadFile(name + "/params.schema.json")
	if err != nil {
		return nil, nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		return nil, nil, err
	}
	schema, err := c.Compile(name)
	if err != nil {
		return nil, nil, err
	}
	var raw map[string]any
	err = json.Unmarshal(b, &raw)
	return raw, schema, err
}

// explain lists what a validation error found: ".limit: got string, want number".
func explain(err error) []string {
	v, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []string{": " + err.Error()}
	}
	if len(v.Causes) == 0 {
		at := ""
		for _, step := range v.InstanceLocation {
			at += "." + step
		}
		return []string{at + ": " + v.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
	}
	var out []string
	for _, c := range v.Causes {
		out = append(out, explain(c)...)
	}
	return out
}
