# METADATA
# title: Where data may go
# description: |
#   Tools that take a URL reach the hosts of a list and no other. Tools that send and name no
#   receiver at all (a shell, an MCP server, a search) must be named.
package callgate.policy.egress

import data.callgate.lib
import rego.v2

params := data.params.egress

deny contains {"id": "egress.host", "msg": $"{leaf.host} is not on the list", "args": [leaf.path]} if {
	"url" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "url"
	not lib.host_in(leaf.host, params.hosts)
}

deny contains "egress.nowhere" if {
	input.call.kind == "tool"
	"egress" in input.call.effects
	not "url" in input.call.sinks
	not "recipient" in input.call.sinks
	not input.call.tool in params.tools
}

allow contains "egress.url" if {
	input.call.kind == "tool"
	"url" in input.call.sinks
	not "destructive" in input.call.effects
	some leaf in input.leaves
	leaf.sink == "url"
}

allow contains "egress.tool" if {
	input.call.kind == "tool"
	input.call.tool in params.tools
}
