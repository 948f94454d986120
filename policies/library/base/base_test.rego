package callgate.test.base_test

import data.callgate.decision
import data.callgate.policy.base
import data.callgate.testing as t
import rego.v2

effect(req) := e if {
	e := decision.by({"base"}).effect with input as req
}

with_params(req, change) := e if {
	e := decision.by({"base"}).effect with input as req with data.params.base as object.union(data.params.base, change)
}

by_untrusted(req) := object.union(req, {"labels": {"program": {"rank": 0, "trust": "untrusted"}}})

test_builtin if effect(t.builtin("len")) == "allow"

test_builtin_in_an_untrusted_program if effect(by_untrusted(t.builtin("len"))) == "allow"

test_builtin_refused if with_params(t.builtin("len"), {"refused_builtins": ["len"]}) == "deny"

test_program if effect(t.request("program", "program", {"text": t.mail("x")}, {})) == "allow"

test_answer if effect(t.request("answer", "answer", {"value": t.mail("x")}, {})) == "allow"

test_read if effect(t.call("mail.read", {"id": t.literal("1")})) == "allow"

test_read_in_an_untrusted_program if effect(by_untrusted(t.call("mail.read", {"id": t.mail("1")}))) == "allow"

test_write_is_for_others_to_allow if {
	effect(t.call("files.write", {"path": t.literal("x")})) == "deny"
	count(base.deny) == 0 with input as t.call("files.write", {"path": t.literal("x")})
}

test_write_in_an_untrusted_program if {
	{d.id | some d in base.deny} == {"base.untrusted-program"} with input as by_untrusted(t.call("files.write", {"path": t.literal("x")}))
}

test_write_in_an_untrusted_program_excepted if {
	count(base.deny) == 0 with input as by_untrusted(t.call("mail.draft", {"body": t.literal("x")}))
		with data.params.base as object.union(data.params.base, {"untrusted_programs_may_call": ["mail.draft"]})
}

# A program of which nobody said who wrote it.
test_write_in_an_unlabelled_program if {
	req := object.remove(t.call("files.write", {"path": t.literal("x")}), ["labels"])
	count(base.deny) == 1 with input as req
}

test_observe if effect(t.request("observe", "observe", {"value": t.mail("x")}, {})) == "allow"

test_observe_secret if effect(t.request("observe", "observe", {"value": t.tagged("x", "secret")}, {})) == "deny"

test_observe_untrusted_where_only_trusted_is_shown if with_params(t.request("observe", "observe", {"value": t.mail("x")}, {}), {"observe": "trusted"}) == "deny"

test_observe_trusted_where_only_trusted_is_shown if with_params(t.request("observe", "observe", {"value": t.literal("x")}, {}), {"observe": "trusted"}) == "allow"

test_model if effect(t.request("model", "model", {"question": t.literal("x"), "data": t.mail("y")}, {})) == "allow"

test_model_switched_off if with_params(t.request("model", "model", {"question": t.literal("x")}, {}), {"model": false}) == "deny"

endorse(kind, bits) := t.request("endorse", "endorse", {"value": t.mail(true), "trust": t.literal("user"), "kind": t.literal(kind), "bits": t.literal(bits)}, {})

test_endorse_asks if effect(endorse("bool", 1)) == "ask"

test_endorse_bool if with_params(endorse("bool", 1), {"endorse": "bool"}) == "allow"

test_endorse_bool_refuses_text if with_params(endorse("other", 4000), {"endorse": "bool"}) == "deny"

test_endorse_bounded if with_params(endorse("enum", 3), {"endorse": "bounded"}) == "allow"

test_endorse_bounded_refuses_many_bits if with_params(endorse("int", 9), {"endorse": "bounded"}) == "deny"

test_endorse_bounded_refuses_text if with_params(endorse("other", 1), {"endorse": "bounded"}) == "deny"

test_endorse_none if with_params(endorse("bool", 1), {"endorse": "none"}) == "deny"

test_endorse_in_an_untrusted_program if effect(object.union(endorse("bool", 1), {"labels": {"pc": {"rank": 0}}})) == "deny"

test_declassify_asks if effect(t.request("declassify", "declassify", {"value": t.literal("x"), "readers": [t.literal("*")]}, {})) == "ask"

test_declassify_none if with_params(t.request("declassify", "declassify", {"value": t.literal("x"), "readers": [t.literal("*")]}, {}), {"declassify": "none"}) == "deny"

test_a_kind_that_is_unknown if effect(t.request("tool", "mail.read", {}, {"call": {"kind": "dream"}})) == "deny"
