# METADATA
# title: Payments go to accounts of the vendor file
# description: |
#   An account number must come from the vendor file and from nowhere else. A large payment is for a person to
#   decide, who then decides all of it: even a program that a stranger's mail has steered may propose one, to a
#   vendor's account.
# schemas:
#   - input: schema.input
package callgate.policy.payments

import data.callgate.lib
import rego.v2

deny contains {"id": "payments.iban-origin", "msg": "the account number is not from the vendor file", "args": [leaf.path]} if {
	some leaf in input.leaves
	leaf.sink == "account"
	not lib.only_from(leaf, {data.params.payments.vendor_file})
	not for_a_person(leaf)
}

ask contains {"id": "payments.large", "msg": "above the limit of 10,000.00", "args": paths} if large

paths := [leaf.path | some leaf in input.leaves]

# `not … <=`, not `>`: an amount that is missing or no number counts as large.
large if not input.call.args.amount <= data.params.payments.limit

# What is no number may sort below every number.
large if not is_number(input.call.args.amount)

for_a_person(leaf) if {
	large
	leaf.norm in data.params.payments.accounts
}

# Not the memo: the ledger would keep a stranger's text, and what is read from it counts as ours.
accept contains {"id": "payments.person-decides", "path": leaf.path} if {
	large
	some leaf in input.leaves
	not leaf.sink in {"account", "content"}
}

accept contains {"id": "payments.known-account", "path": leaf.path} if {
	some leaf in input.leaves
	leaf.sink == "account"
	for_a_person(leaf)
}

allow contains "payments.pay" if input.call.tool == "payments.pay"
