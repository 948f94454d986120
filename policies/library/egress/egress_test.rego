package callgate.test.egress_test

import data.callgate.decision
import data.callgate.policy.egress
import data.callgate.testing as t
import rego.v2

params := {"hosts": ["api.hr.example", ".corp.example"], "tools": ["mcp.acme.frob"]}

effect(req) := e if {
	e := decision.by({"egress"}).effect with input as req with data.params.egress as params
}

post(url) := t.call("http.post", {"url": url, "body": t.mail("x")})

test_listed if effect(post(t.literal("https://api.hr.example/x"))) == "allow"

test_listed_below if effect(post(t.literal("https://a.b.corp.example:8443/x"))) == "allow"

test_the_domain_itself_is_not_below if effect(post(t.literal("https://corp.example/"))) == "deny"

test_unlisted if effect(post(t.literal("https://evil.example/x"))) == "deny"

test_begins_alike if effect(post(t.literal("https://api.hr.example.evil.example/"))) == "deny"

test_no_url if effect(t.call("http.post", {"body": t.literal("x")})) == "deny"

test_listed_and_taken_from_a_mail if effect(post(t.mail("https://api.hr.example/?q=x"))) == "deny"

test_a_tool_that_is_named if effect(t.call("mcp.acme.frob", {"x": t.literal("x")})) == "allow"

test_a_tool_that_is_not_named if {
	"egress.nowhere" in egress.deny with input as t.call("shell.run", {"argv": [t.literal("ls")]}) with data.params.egress as params
}

test_mail_is_for_others if count(egress.deny) == 0 with input as t.call("mail.send", {"to": [t.typed("a@x")]}) with data.params.egress as params
