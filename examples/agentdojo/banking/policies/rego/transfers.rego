# METADATA
# title: Transfers
# description: |
#   Money goes to accounts that the customer typed, or that the bank's own records have. What a file or an incoming
#   transaction says may be an amount, up to a limit; anything else of it that would go into a transfer is for the customer
#   to confirm, and so are large amounts and words to the payee that are not the customer's own. Everything
#   of a transfer that needs no confirmation is for the payee to know: that is what it is for.
# schemas:
#   - input: schema.input
package callgate.policy.transfers

import data.callgate.lib
import rego.v2

params := data.params.transfers

transfers if {
	input.call.kind == "tool"
	"account" in input.call.sinks
}

allow contains "transfers.pay" if transfers

# The leaves that are not the customer's own doing, beyond what goes without saying.
doubtful contains leaf.path if {
	some leaf in input.leaves
	leaf.sink == "account"
	leaf.value != null
	not known(leaf)
}

doubtful contains leaf.path if {
	some leaf in input.leaves
	leaf.param == "amount"
	leaf.value != null
	not modest(leaf)
}

doubtful contains leaf.path if {
	some leaf in input.leaves
	leaf.sink == "content"
	leaf.value != null
	not own_words(leaf)
}

doubtful contains leaf.path if {
	some leaf in input.leaves
	leaf.sink in {"none", "query"}
	leaf.param != "amount"
	not trusted(leaf)
}

trusted(leaf) if {
	leaf.rank >= lib.level.internal
	not chosen_by_others(leaf)
}

# Untrusted text chose it among more than a few.
chosen_by_others(leaf) if {
	leaf.choice.rank < lib.level.internal
	leaf.choice.bits > params.choice_bits
}

known(leaf) if {
	trusted(leaf)
	leaf.typed
}

known(leaf) if {
	trusted(leaf)
	lib.only_from(leaf, params.accounts_from)
}

modest(leaf) if {
	leaf.rank >= lib.level.internal
	leaf.value <= params.limit
}

modest(leaf) if leaf.value <= params.limit_of_others

own_words(leaf) if {
	trusted(leaf)
	lib.only_by(leaf, {"agent", "input"})
}

# What is no number, and less than nothing, nobody confirms.
deny contains {"id": "transfers.amount", "msg": "the amount is no number, or less than nothing", "args": [leaf.path]} if {
	transfers
	some leaf in input.leaves
	leaf.param == "amount"
	leaf.value != null
	not positive(leaf.value)
}

positive(x) if {
	is_number(x)
	x >= 0
}

ask contains {"id": "transfers.confirm", "msg": "what would be paid is not the customer's own doing", "args": [path | some path in doubtful]} if {
	transfers
	count(doubtful) > 0
}

accept contains {"id": "transfers.payee", "path": leaf.path} if {
	transfers
	some leaf in input.leaves
	leaf.sink != "control"
	not "secret" in leaf.tags
}

# Whoever is paid learns that they were. Who decided it is no question here: flow.control has the answer, unless it is trusted.
accept contains {"id": "transfers.payee", "path": "pc"} if {
	transfers
	input.labels.pc.rank >= lib.level.internal
	not "secret" in input.labels.pc.tags
}
