# METADATA
# title: Personal data
# description: |
#   What carries one of the tags leaves for the hosts of a list only, whether in an argument or in what decided the call.
#   Egress that names no host gets none of it.
package callgate.policy.pii

import data.callgate.lib
import rego.v2

params := data.params.pii

personal if {
	some tag in input.tags
	tag in params.tags
}

deny contains {"id": "pii.host", "msg": $"{dest.host} may not have personal data", "args": [dest.path]} if {
	"egress" in input.call.effects
	personal
	some dest in input.leaves
	dest.sink in {"url", "recipient"}
	not lib.host_in(dest.host, params.hosts)
}

deny contains {"id": "pii.nowhere", "msg": "personal data would go to nobody in particular"} if {
	"egress" in input.call.effects
	not input.call.kind in {"observe", "model"}
	personal
	count([leaf | some leaf in input.leaves; leaf.sink in {"url", "recipient"}]) == 0
}

deny contains {"id": "pii.model", "msg": "personal data is not for the model", "args": ["value"]} if {
	input.call.kind in {"observe", "model"}
	personal
	params.model == false
}
