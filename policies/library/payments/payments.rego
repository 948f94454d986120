# METADATA
# title: Payments
# description: |
#   Money goes to accounts that come from named resources (a vendor file, the bank's own list), whatever a mail
#   says. Above a limit a person agrees; above the maximum nobody does. Which of the known accounts is paid must not be an attacker's choice.
package callgate.policy.payments

import data.callgate.lib
import rego.v2

params := data.params.payments

pays if {
	input.call.kind == "tool"
	"account" in input.call.sinks
}

deny contains {"id": "payments.origin", "msg": "the account does not come from where accounts come from", "args": [leaf.path]} if {
	"account" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "account"
	not lib.only_from(leaf, params.accounts_from)
}

ask contains {"id": "payments.chosen", "msg": "untrusted text chose which account", "args": [leaf.path], "approvers": params.approvers, "ttl": params.ttl} if {
	"account" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "account"
	leaf.choice.rank < lib.level.internal
	leaf.choice.bits > params.choice_bits
}

# Amounts are the numbers under a parameter, or a field, of one of the names. Not one at all counts as large.
amounts := [leaf.value |
	some leaf in input.leaves
	some name in params.amounts
	regex.match(sprintf(`(^|[.])%s$`, [name]), leaf.path)
]

small if within(params.limit)

within(most) if {
	count(amounts) > 0
	every a in amounts {
		is_number(a)
		a >= 0
	}
	sum(amounts) <= most
}

ask contains {"id": "payments.large", "msg": "above the limit", "approvers": params.approvers, "count": params.approvals, "other_than": params.other_than, "ttl": params.ttl} if {
	pays
	not small
}

deny contains {"id": "payments.max", "msg": "above what is ever paid"} if {
	pays
	not within(params.max)
}

allow contains "payments.pay" if {
	pays
	not "egress" in input.call.effects
	some leaf in input.leaves
	leaf.sink == "account"
}
