package rego

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// removed are builtins that policies do not have although OPA does not call them
// nondeterministic, and why.
var removed = map[string]string{
	"bits.lsh":                          "a number of any length in one step",
	"providers.aws.sign_req":            "signs requests to a network that policies do not have",
	"rego.parse_module":                 "reads text of any depth in one step",
	"crypto.x509.parse_keypair":         "handles private keys",
	"crypto.parse_private_keys":         "handles private keys",
	"crypto.x509.parse_rsa_private_key": "handles private keys",
}

// Capabilities returns what policies may use: everything of this OPA that gives the same result
// each time from its arguments alone. Network, clock, environment and randomness are
// left out. policies/library/capabilities.json is the same, for stock opa.
func Capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(slices.Clone(c.Builtins), func(b *ast.Builtin) bool { return !permitted(b) })
	c.AllowNet = []string{}
	c.WasmABIVersions = nil
	return c
}

func permitted(b *ast.Builtin) bool {
	return !b.Nondeterministic && removed[b.Name] == ""
}

// whyRemoved explains an undefined function that stock OPA has; "" if it has none.
func whyRemoved(name string) string {
	if why := removed[name]; why != "" {
		return name + " is left out: " + why
	}
	for _, b := range ast.CapabilitiesForThisVersion().Builtins {
		if b.Name == name && b.Nondeterministic {
			hint := name + " is left out: policies have no network, clock, environment or randomness"
			if strings.HasPrefix(name, "time.") {
				hint += "; the time of the call is input.time"
			}
			return hint
		}
	}
	return ""
}
