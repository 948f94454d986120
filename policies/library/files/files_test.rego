package callgate.test.files_test

import data.callgate.decision
import data.callgate.policy.files
import data.callgate.testing as t
import rego.v2

params := {"write": ["out", "notes/"], "delete": "none", "accept_names": false, "approvers": []}

changed(req, change) := e if {
	e := decision.by({"files"}).effect with input as req with data.params.files as object.union(params, change)
}

write(path) := changed(t.call("files.write", {"path": path, "text": t.mail("x")}), {})

test_inside if write(t.literal("out/a.txt")) == "allow"

test_inside_with_a_slash if write(t.literal("notes/b/a.txt")) == "allow"

test_outside if write(t.literal("etc/passwd")) == "deny"

test_begins_alike if write(t.literal("outside/a.txt")) == "deny"

test_climbs if write(t.literal("out/../etc/passwd")) == "deny"

test_absolute if write(t.literal("/out/a.txt")) == "deny"

test_home if changed(t.call("files.write", {"path": t.literal("~/x")}), {"write": ["."]}) == "deny"

test_backslash if changed(t.call("files.write", {"path": t.literal("a\\..\\b")}), {"write": ["."]}) == "deny"

test_no_path if changed(t.call("files.write", {"text": t.literal("x")}), {}) == "deny"

test_all_folders if changed(t.call("files.write", {"path": t.literal("x.txt")}), {"write": ["."]}) == "allow"

test_name_from_a_mail if write(t.mail("out/a.txt")) == "deny"

test_name_from_a_mail_accepted if changed(t.call("files.write", {"path": t.mail("out/a.txt")}), {"accept_names": true}) == "allow"

test_hidden_name_from_a_mail if changed(t.call("files.write", {"path": t.mail("out/.bashrc")}), {"accept_names": true}) == "deny"

test_folder_from_a_mail if changed(t.call("files.write", {"path": t.mail("out/-x/a")}), {"accept_names": true}) == "deny"

test_a_path_that_is_no_text if changed(t.call("files.write", {"path": t.literal(5)}), {"write": ["."]}) == "deny"

test_delete if changed(t.call("files.delete", {"path": t.literal("out/a.txt")}), {}) == "deny"

test_delete_asks if changed(t.call("files.delete", {"path": t.literal("out/a.txt")}), {"delete": "ask"}) == "ask"

test_delete_outside if changed(t.call("files.delete", {"path": t.literal("x.txt")}), {"delete": "ask"}) == "deny"

test_send_is_for_others if count(files.allow) == 0 with input as t.call("http.post", {"url": t.literal("x")}) with data.params.files as params
