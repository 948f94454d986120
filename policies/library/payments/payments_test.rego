package callgate.test.payments_test

import data.callgate.decision
import data.callgate.policy.payments
import data.callgate.testing as t
import rego.v2

params := {
	"accounts_from": ["vendors.csv"], "amounts": ["amount"], "limit": 1000, "max": 50000, "choice_bits": 6,
	"approvers": ["group:finance"], "approvals": 2, "other_than": ["requester"], "ttl": "15m",
}

decide(req) := d if {
	d := decision.by({"payments"}) with input as req with data.params.payments as params
}

pay(iban, amount) := decide(t.call("bank.transfer", {"iban": iban, "amount": amount})).effect

vendor(x) := t.file(x, "vendors.csv")

test_vendor if pay(vendor("DE1"), t.literal(10)) == "allow"

# What is owed may come from a mail: the amount is not an account.
test_amount_from_a_mail if pay(vendor("DE1"), t.mail(10)) == "allow"

test_account_from_a_mail if pay(t.mail("XX"), t.literal(10)) == "deny"

test_account_from_the_model if pay(t.literal("XX"), t.literal(10)) == "deny"

test_account_from_two_places if {
	both := object.union(vendor("DE1"), {"sources": [{"tool": "files.read", "of": "vendors.csv"}, {"tool": "mail.read", "of": "inbox"}]})
	pay(both, t.literal(10)) == "deny"
}

test_large_asks if {
	pay(vendor("DE1"), t.literal(1001)) == "ask"
	some a in payments.ask with input as t.call("bank.transfer", {"iban": vendor("DE1"), "amount": t.literal(1001)}) with data.params.payments as params
	a.count == 2
	a.approvers == ["group:finance"]
}

test_at_the_limit if pay(vendor("DE1"), t.literal(1000)) == "allow"

test_above_the_maximum if pay(vendor("DE1"), t.literal(50001)) == "deny"

test_negative if pay(vendor("DE1"), t.literal(-5)) == "deny"

test_a_text if pay(vendor("DE1"), t.literal("5")) == "deny"

test_nothing if pay(vendor("DE1"), t.literal(null)) == "deny"

test_no_amount if decide(t.call("bank.transfer", {"iban": vendor("DE1")})).effect == "deny"

test_no_account if decide(t.call("bank.transfer", {"amount": t.literal(5)})).effect == "deny"

test_batch_is_summed if {
	record := {"iban": vendor("DE1"), "amount": t.literal(600)}
	decide(t.call("bank.batch", {"payments": [record]})).effect == "allow"
	decide(t.call("bank.batch", {"payments": [record, record]})).effect == "ask"
}

test_one_record_of_many if {
	d := decide(t.call("bank.batch", {"payments": [{"iban": vendor("DE1"), "amount": t.literal(5)}, {"iban": t.mail("XX"), "amount": t.literal(5)}]}))
	{r.args | some r in d.reasons; r.id == "payments.origin"} == {["payments[1].iban"]}
}

test_a_name_that_ends_alike_is_no_amount if {
	count(payments.amounts) == 0 with input as t.call("bank.batch", {"payments": [{"iban": vendor("DE1"), "noamount": t.literal(5)}]}) with data.params.payments as params
}

test_chosen_among_few if pay(t.chosen(vendor("DE1"), 4), t.literal(5)) == "allow"

test_chosen_among_many if pay(t.chosen(vendor("DE1"), 12), t.literal(5)) == "ask"
