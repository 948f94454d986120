package callgate.test.shell_library_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

params := {"tools": ["shell.run"], "words": "argv", "commands": ["ls", "wc", "grep"], "accept_names": true}

run(argv) := d if {
	d := decision.by({"shell"}) with input as t.call("shell.run", {"argv": argv}) with data.params.shell as params
}

ids(argv) := {r.id | some r in run(argv).reasons; r.effect == "deny"}

test_allowed if run([t.literal("grep"), t.literal("-c"), t.mail("report.txt")]).effect == "allow"

test_option if ids([t.literal("grep"), t.mail("-f/etc/passwd")]) == {"flow.word"}

test_path if ids([t.literal("wc"), t.mail("../x")]) == {"flow.word"}

test_newline if ids([t.literal("wc"), t.mail("x\n")]) == {"flow.word"}

test_number if ids([t.literal("wc"), t.mail(5)]) == {"flow.word"}

test_command if ids([t.literal("rm"), t.literal("x")]) == {"shell.command"}

test_untrusted_command if ids([t.mail("wc"), t.literal("x")]) == {"flow.word"}

test_no_words if ids([]) == {"shell.command"}

test_another_tool if {
	decision.by({"shell"}).effect == "deny" with input as t.call("mcp.acme.frob", {"x": t.literal("ls")}) with data.params.shell as params
}
