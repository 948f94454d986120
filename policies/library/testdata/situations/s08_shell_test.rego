package callgate.test.shell_test

import data.callgate.decision
import data.callgate.testing as t
import rego.v2

run(argv) := d if {
	d := decision.by({"shell"}) with input as t.call("shell.run", {"argv": argv})
}

ids(argv) := {r.id | some r in run(argv).reasons; r.effect == "deny"}

test_ok if run([t.literal("grep"), t.literal("-c"), t.mail("report.txt")]).effect == "allow"

test_option if ids([t.literal("grep"), t.mail("-f/etc/passwd")]) == {"flow.word"}

test_path if ids([t.literal("wc"), t.mail("../x")]) == {"flow.word"}

test_newline if ids([t.literal("wc"), t.mail("x\n")]) == {"flow.word"}

test_command if ids([t.literal("rm"), t.literal("x")]) == {"shell.command"}

test_untrusted_command if ids([t.mail("wc"), t.literal("x")]) == {"flow.word"}

test_no_argv if ids([]) == {"shell.command"}
