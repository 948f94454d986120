# METADATA
# title: Mail
# description: |
#   A message goes to addresses that a person typed, that are in the address book, or at a known domain. An address that is typed or in
#   the book may have been taken from a mail: it is accepted. Many recipients ask a person.
package callgate.policy.mail

import data.callgate.lib
import rego.v2

params := data.params.mail

sends if {
	input.call.kind == "tool"
	"recipient" in input.call.sinks
	"egress" in input.call.effects
	not "destructive" in input.call.effects
}

chosen_by_a_person(leaf) if leaf.typed

chosen_by_a_person(leaf) if leaf.norm in params.address_book

known(leaf) if chosen_by_a_person(leaf)

known(leaf) if lib.host_in(leaf.host, params.domains)

deny contains {"id": "mail.unknown", "msg": $"{leaf.norm} is not in the address book", "args": [leaf.path]} if {
	"recipient" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "recipient"
	not known(leaf)
}

accept contains {"id": "mail.known", "path": leaf.path} if {
	"recipient" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "recipient"
	chosen_by_a_person(leaf)
}

allow contains "mail.send" if {
	sends
	some leaf in input.leaves
	leaf.sink == "recipient"
}

ask contains {"id": "mail.many", "msg": "more recipients than usual", "approvers": params.approvers} if {
	sends
	count([leaf | some leaf in input.leaves; leaf.sink == "recipient"]) > params.max_recipients
}
