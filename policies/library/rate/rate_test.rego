package callgate.test.rate_test

import data.callgate.policy.rate
import data.callgate.testing as t
import rego.v2

params := {
	"per_run": {"mail.send": 5, "files.write": 0}, "per_hour": {"mail.send": 20}, "spending_tools": ["bank.transfer", "bank.batch"],
	"amounts": ["amount"], "spend_per_run": 1000, "endorsed_bits": 64, "over": "ask",
}

limits(req) := d if {
	d := {[o.id, o.max, o.cost] | some o in rate.obligations} with input as req with data.params.rate as params
}

denials(req) := d if {
	d := rate.deny with input as req with data.params.rate as params
}

test_mail if limits(t.call("mail.send", {"to": [t.typed("a@x")]})) == {["rate.run", 5, 1], ["rate.hour", 20, 1]}

test_none_at_all if limits(t.call("files.write", {"path": t.literal("x")})) == {["rate.run", 0, 1]}

test_other_tool if limits(t.call("mail.read", {"id": t.literal("x")})) == set()

test_spend if limits(t.call("bank.transfer", {"amount": t.literal(12.5)})) == {["rate.spend", 1000, 12.5]}

test_spend_of_a_batch if limits(t.call("bank.batch", {"payments": [{"amount": t.literal(5)}, {"amount": t.literal(7)}]})) == {["rate.spend", 1000, 12]}

test_no_price if denials(t.call("bank.transfer", {"iban": t.literal("x")})) == {"rate.price"}

test_a_text if denials(t.call("bank.transfer", {"amount": t.literal("5")})) == {"rate.price"}

test_negative if denials(t.call("bank.transfer", {"amount": t.literal(-5)})) == {"rate.price"}

test_endorse if limits(t.request("endorse", "endorse", {"value": t.mail(true), "bits": t.literal(1)}, {})) == {["rate.endorse", 64, 1]}
