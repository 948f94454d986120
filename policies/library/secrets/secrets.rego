# METADATA
# title: Secrets
# description: |
#   What carries one of the tags goes where a parameter is declared to take secrets, and nowhere else. The flow rule says so
#   of the tag `secret`, and an accept can lift it; these denials cannot be lifted.
package callgate.policy.secrets

import rego.v2

params := data.params.secrets

deny contains {"id": "secrets.sink", "msg": "a secret where none is wanted", "args": [leaf.path]} if {
	not input.call.kind in {"builtin", "endorse", "declassify"}
	some leaf in input.leaves
	leaf.sink != "secret"
	leaf.sink != "control"
	some tag in leaf.tags
	tag in params.tags
}

# if token == "x": http.post(…)
deny contains {"id": "secrets.control", "msg": "a secret decided that something is sent", "args": ["pc"]} if {
	"egress" in input.call.effects
	some tag in input.labels.pc.tags
	tag in params.tags
}
