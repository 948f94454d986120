package callgate.test.secrets_library_test

import data.callgate.policy.secrets
import data.callgate.testing as t
import rego.v2

params := {"tags": ["secret", "credential"]}

denials(req) := d if {
	d := {[x.id, x.args] | some x in secrets.deny} with input as req with data.params.secrets as params
}

key := t.tagged("sk-…", "credential")

test_body if denials(t.call("http.post", {"body": key})) == {["secrets.sink", ["body"]]}

test_header if denials(t.call("http.post", {"headers": {"Authorization": key, "Accept": t.literal("*/*")}})) == set()

test_other_header if denials(t.call("http.post", {"headers": {"Cookie": key}})) == {["secrets.sink", ["headers.Cookie"]]}

test_in_a_list if denials(t.call("mail.send", {"to": [t.typed("a@x")], "body": [t.literal("x"), key]})) == {["secrets.sink", ["body[1]"]]}

test_model if denials(t.request("observe", "observe", {"value": key}, {})) == {["secrets.sink", ["value"]]}

test_answer if denials(t.request("answer", "answer", {"value": key}, {})) == {["secrets.sink", ["value"]]}

test_endorse if denials(t.request("endorse", "endorse", {"value": key, "trust": t.literal("user")}, {})) == set()

test_other_tag if denials(t.call("files.write", {"text": t.tagged("x", "pii")})) == set()

test_control if {
	req := object.union(t.call("http.post", {"body": t.literal("yes")}), {"labels": {"pc": {"tags": ["secret"]}}})
	denials(req) == {["secrets.control", ["pc"]]}
}

test_control_at_a_read if {
	req := object.union(t.call("mail.read", {"id": t.literal("1")}), {"labels": {"pc": {"tags": ["secret"]}}})
	denials(req) == set()
}
