package callgate.test.transfers_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

# Values as the tools and the planner label them.
own(v) := t.value(v, 2, {"tool": "input", "of": "task"})

typed(v) := object.union(own(v), {"typed": true})

record(v) := t.value(v, 1, {"tool": "banking.get_most_recent_transactions", "of": "transactions"})

balance(v) := t.value(v, 1, {"tool": "banking.get_balance", "of": "account"})

file(v) := t.value(v, 0, {"tool": "banking.read_file", "of": "file bill.txt"})

decide(patch) := d if {
	args := object.union({"recipient": typed("XX1"), "amount": own(10), "subject": own("Rent"), "date": own("2026-12-01")}, patch)
	d := decision.by({"transfers"}) with input as t.call("banking.send_money", args)
}

test_effect[name] if {
	some name, c in {
		"typed by the customer": {"args": {}, "effect": "allow"},
		"an account of the bank's records": {"args": {"recipient": record("XX2")}, "effect": "allow"},
		"an account that the planner made up": {"args": {"recipient": own("XX3")}, "effect": "ask"},
		"an account from a file": {"args": {"recipient": file("XX4")}, "effect": "ask"},
		"typed, and in a file": {"args": {"recipient": object.union(file("XX1"), {"typed": true})}, "effect": "ask"},
		"chosen by others among few": {"args": {"recipient": t.chosen(record("XX2"), 4)}, "effect": "allow"},
		"chosen by others among many": {"args": {"recipient": t.chosen(record("XX2"), 12)}, "effect": "ask"},
		"a small amount from a file": {"args": {"amount": file(100)}, "effect": "allow"},
		"a larger one from a file": {"args": {"amount": file(101)}, "effect": "ask"},
		"a large amount of one's own": {"args": {"amount": own(5000)}, "effect": "allow"},
		"a very large one": {"args": {"amount": own(5001)}, "effect": "ask"},
		"less than nothing": {"args": {"amount": own(-1)}, "effect": "deny"},
		"an amount that is none": {"args": {"amount": own("NaN")}, "effect": "deny"},
		"words from a file": {"args": {"subject": file("see you")}, "effect": "ask"},
		"the bank's records to the payee": {"args": {"subject": balance("1810")}, "effect": "ask"},
		"a date from a file": {"args": {"date": file("2026-12-01")}, "effect": "ask"},
	}
	decide(c.args).effect == c.effect
}

test_asks_about_what_is_doubtful if {
	some r in decide({"recipient": file("XX4"), "subject": file("x")}).reasons
	r.id == "transfers.confirm"
	{path | some path in r.args} == {"recipient", "subject"}
}

# The flow rule's denials that only concern who reads are lifted; who decides is not.
test_private_amount_is_for_the_payee if decide({"amount": t.read_by(record(10), ["customer@bank.example"])}).effect == "allow"

test_others_decide_no_transfer if {
	request := t.call("banking.send_money", {"recipient": typed("XX1"), "amount": own(10), "subject": own("x"), "date": own("d")})
	d := decision.by({"transfers"}) with input as json.patch(request, [{"op": "replace", "path": "/labels/pc/rank", "value": 0}])
	d.effect == "deny"
	{r.id | some r in d.reasons; r.effect == "deny"} == {"flow.control"}
}

test_secrets_stay if decide({"subject": t.tagged("x", "secret")}).effect == "deny"

test_a_change_of_the_amount_alone if {
	order := t.value(7, 1, {"tool": "banking.get_scheduled_transactions", "of": "standing orders"})
	d := decision.by({"transfers"}) with input as t.call("banking.update_scheduled_transaction", {"id": order, "amount": own(10)})
	d.effect == "allow"
}

test_others_choose_no_standing_order if {
	d := decision.by({"transfers"}) with input as t.call("banking.update_scheduled_transaction", {"id": file(7), "amount": own(10)})
	d.effect == "ask"
}
