# METADATA
# title: Shell words
# description: |
#   Commands of a list, each word by itself: no shell reads them. A word that came from an
#   untrusted source is accepted if it is a file name and not the command.
package callgate.policy.shell

import data.callgate.lib
import rego.v2

params := data.params.shell

runs if {
	input.call.kind == "tool"
	input.call.tool in params.tools
}

deny contains "shell.command" if {
	runs
	not input.call.args[params.words][0] in params.commands
}

command := sprintf("%s[0]", [params.words])

accept contains {"id": "shell.filename", "path": leaf.path} if {
	runs
	params.accept_names == true
	some leaf in input.leaves
	leaf.sink == "word"
	leaf.path != command
	is_string(leaf.value)
	lib.is_filename(leaf.value)
}

allow contains "shell.run" if runs
