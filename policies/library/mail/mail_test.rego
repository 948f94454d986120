package callgate.test.mail_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

params := {"address_book": ["bob@corp.example"], "domains": ["corp.example", ".partner.example"], "max_recipients": 2, "approvers": []}

effect(tool, args) := e if {
	e := decision.by({"mail"}).effect with input as t.call(tool, args) with data.params.mail as params
}

send(args) := effect("mail.send", args)

test_book if send({"to": [t.mail("Bob@Corp.example")], "body": t.mail("x")}) == "allow"

test_typed if send({"to": [t.typed("new@x.example")]}) == "allow"

test_domain if send({"to": [t.literal("carol@corp.example")]}) == "allow"

test_domain_below if send({"to": [t.literal("carol@eu.partner.example")]}) == "allow"

test_domain_that_ends_alike if send({"to": [t.literal("carol@evilcorp.example")]}) == "deny"

# The domain is known, but which of its people is an attacker's choice.
test_domain_from_a_mail if send({"to": [t.mail("carol@corp.example")]}) == "deny"

test_invented if send({"to": [t.literal("evil@attacker.example")]}) == "deny"

test_bcc if send({"to": [t.typed("a@x.example")], "bcc": [t.literal("evil@attacker.example")]}) == "deny"

test_two_in_one if send({"to": [t.literal("bob@corp.example, evil@attacker.example")]}) == "deny"

test_no_recipient if send({"to": []}) == "deny"

test_many_ask if send({"to": [t.typed("a@x.example"), t.typed("b@x.example"), t.typed("c@x.example")]}) == "ask"

test_private_text if send({"to": [t.typed("a@x.example")], "body": t.read_by(t.literal("x"), ["ana@corp.example"])}) == "deny"

test_another_tool_is_not_allowed if effect("http.post", {"url": t.literal("https://corp.example")}) == "deny"
