# METADATA
# title: Files
# description: |
#   Writing inside the folders of a list; deleting where a person agrees. A path does not climb, and is not
#   absolute. A file name that came from an untrusted source can be accepted, as a name and no more.
package callgate.policy.files

import data.callgate.lib
import rego.v2

params := data.params.files

plain(path) if {
	is_string(path)
	not startswith(path, "/")
	not startswith(path, "~")
	not contains(path, "\\")
	not ".." in split(path, "/")
}

inside(path) if lib.path_in(path, params.write)

inside(path) if {
	is_string(path)
	"." in params.write
}

deny contains {"id": "files.path", "msg": "a path that climbs, or is absolute", "args": [leaf.path]} if {
	"path" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "path"
	not plain(leaf.value)
}

deny contains {"id": "files.outside", "msg": "outside the folders that may be written", "args": [leaf.path]} if {
	"path" in input.call.sinks
	changes
	some leaf in input.leaves
	leaf.sink == "path"
	not inside(leaf.value)
}

changes if "write" in input.call.effects

changes if "destructive" in input.call.effects

accept contains {"id": "files.name", "path": leaf.path} if {
	params.accept_names == true
	"path" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "path"
	plain(leaf.value)
	name := split(leaf.value, "/")
	lib.is_filename(name[count(name) - 1])
	inside(leaf.value)
	every part in array.slice(name, 0, count(name) - 1) {
		lib.is_filename(part)
	}
}

named if {
	"path" in input.call.sinks
	some leaf in input.leaves
	leaf.sink == "path"
}

allow contains "files.write" if {
	input.call.kind == "tool"
	named
	"write" in input.call.effects
	not "egress" in input.call.effects
	not "destructive" in input.call.effects
}

allow contains "files.delete" if {
	input.call.kind == "tool"
	named
	"destructive" in input.call.effects
	not "egress" in input.call.effects
	params.delete == "ask"
}

ask contains {"id": "files.delete-ask", "msg": "delete a file", "approvers": params.approvers} if {
	named
	"destructive" in input.call.effects
	params.delete == "ask"
}
