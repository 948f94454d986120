# METADATA
# description: |
#   `callgate test examples/invoices` runs these with the parameters of payments.yaml and the sinks of the tool; so does stock
#   `opa test`, given what `callgate policy data --agent examples/invoices` writes.
package callgate.test.invoices_payments_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

decide(args) := d if {
	d := decision.by({"payments"}) with input as t.call("payments.pay", args)
}

effect(iban, amount) := decide({"order": t.literal("PO-1"), "iban": iban, "amount": amount}).effect

ids(args, kind) := {r.id | some r in decide(args).reasons; r.effect == kind}

vendor(iban) := t.file(iban, "vendors.csv")

# One that the vendor file has today, and that finance has signed off.
orbital := "AT910000000000660032"

test_vendor_is_paid if effect(vendor(orbital), t.literal(1000)) == "allow"

test_account_from_a_mail_is_refused if {
	effect(t.mail("LT500000011101001234"), t.literal(1000)) == "deny"
	ids({"order": t.literal("PO-1"), "iban": t.mail("LT500000011101001234"), "amount": t.literal(1000)}, "deny") == {"flow.account", "payments.iban-origin"}
}

# Even a vendor's own account number, if a mail is where it came from.
test_known_account_from_a_mail_is_refused if effect(t.mail(orbital), t.literal(1000)) == "deny"

test_account_of_the_model_is_refused if effect(t.literal("LT500000011101001234"), t.literal(1000)) == "deny"

test_account_from_two_places_is_refused if {
	both := object.union(vendor(orbital), {"sources": [{"tool": "csv.read", "of": "vendors.csv", "field": ""}, {"tool": "mail.read", "of": "4.eml", "field": "body"}]})
	effect(both, t.literal(1000)) == "deny"
}

test_limit[name] if {
	some name, c in {
		"at the limit": {"amount": 1000000, "effect": "allow"},
		"above it": {"amount": 1000001, "effect": "ask"},
		"a text": {"amount": "5", "effect": "ask"},
		"nothing": {"amount": null, "effect": "ask"},
	}
	effect(vendor(orbital), t.literal(c.amount)) == c.effect
}

# A person decides all of a large payment, whoever proposed it …
test_large_from_a_mail_asks if {
	# Requests for tests have texts in lower case as their normal form; the tool's has upper case.
	effect(t.mail(orbital), t.mail(1000001)) == "ask" with data.params.payments.accounts as [lower(orbital)]
}

# … but to a vendor's account only.
test_large_to_a_stranger_is_refused if effect(t.mail("LT500000011101001234"), t.literal(1000001)) == "deny"

# A stranger's memo would be read back from the ledger as our own.
test_large_with_a_memo_from_a_mail_is_refused if {
	args := {"order": t.literal("PO-1"), "iban": t.mail(orbital), "amount": t.mail(1000001), "memo": t.mail("see you")}
	ledger := {"name": "ledger", "write": true, "label": t.label([t.file("", "ledger.db")])}
	d := decision.by({"payments"}) with data.params.payments.accounts as [lower(orbital)]
		with input as json.patch(t.call("payments.pay", args), [{"op": "add", "path": "/call/state", "value": ledger}])
	d.effect == "deny"
	{r.id | some r in d.reasons; r.effect == "deny"} == {"flow.state"}
	{a | some r in d.reasons; some a in r.args; r.effect == "deny"} == {"memo"}
}
