# The flow rule, in Rego: the engine's built-in rule on labels, for tests. {"id", "path"} of each leaf, and of the control
# flow, that may not go where the call would take it. It only denies; `accept` lifts it for one path of one call.
package callgate.decision

import data.callgate.lib
import rego.v2

steering := {"recipient", "account", "url", "path", "word", "query"}

known_sinks := steering | {"none", "content", "model", "secret"}

# Showing to the model, asking a model, answering: whoever steers the program only chooses what they see.
crossing if input.call.kind in {"observe", "answer", "model"}

egress if crossing

egress if "egress" in input.call.effects

acts if egress

acts if "write" in input.call.effects

acts if "destructive" in input.call.effects

moves if not input.call.kind in {"builtin", "endorse", "declassify"}

# The leaves that are judged as such, and each labelled argument without one, as an empty list may be.
judged contains leaf if {
	moves
	some leaf in input.leaves
	leaf.sink != "control"
}

judged contains object.union(label, {"path": name, "sink": "none"}) if {
	moves
	some name, label in input.labels.args
	not is_bottom(label)
	count([leaf | some leaf in input.leaves; leaf.param == name]) == 0
}

is_bottom(label) if {
	label.rank == lib.level.system
	"*" in label.readers
	count(label.tags) == 0
}

flow contains {"id": "flow.sink", "path": leaf.path} if {
	some leaf in judged
	not leaf.sink in known_sinks
}

flow contains {"id": concat(".", ["flow", leaf.sink]), "path": leaf.path} if {
	some leaf in judged
	leaf.sink in steering
	not leaf.rank >= lib.level.internal
}

flow contains {"id": "flow.secret", "path": leaf.path} if {
	some leaf in judged
	leaf.sink in known_sinks
	leaf.sink != "secret"
	secret(leaf)
}

flow contains {"id": id, "path": leaf.path} if {
	some leaf in judged
	id := readers_id(leaf.sink)
	not readable(leaf.readers)
}

flow contains {"id": "flow.state", "path": leaf.path} if {
	input.call.state.write
	some leaf in judged
	leaf.sink in known_sinks
	not flows(leaf, input.call.state.label)
}

flow contains {"id": "flow.control", "path": "pc"} if {
	moves
	acts
	not crossing
	not input.labels.pc.rank >= lib.level.internal
}

flow contains {"id": "flow.secret", "path": "pc"} if {
	moves
	acts
	secret(input.labels.pc)
}

flow contains {"id": "flow.control-read", "path": "pc"} if {
	moves
	acts
	not readable(input.labels.pc.readers)
}

flow contains {"id": "flow.state", "path": "pc"} if {
	moves
	input.call.state.write
	not flows(input.labels.pc, input.call.state.label)
}

flow contains {"id": "flow.endorse", "path": "pc"} if {
	input.call.kind == "endorse"
	not input.labels.pc.rank >= granted
}

flow contains {"id": "flow.declassify", "path": "pc"} if {
	input.call.kind == "declassify"
	not input.labels.pc.rank >= lib.level.internal
}

flow contains {"id": "flow.declassify", "path": "value"} if {
	input.call.kind == "declassify"
	not input.labels.args.value.rank >= lib.level.internal
}

default granted := 3

granted := lib.level[input.call.args.trust]

readers_id("content") := "flow.content"

readers_id("model") := "flow.model"

readers_id(sink) := "flow.readers" if {
	egress
	sink in {"url", "path", "word", "query", "none"}
}

secret(x) if "secret" in x.tags

secret(x) if "*" in x.tags

# Everybody who learns what is in the call is among the readers.
readable(readers) if "*" in readers

readable(readers) if {
	crossing
	input.principal.sub in readers
}

readable(readers) if {
	input.call.kind in {"observe", "model"}
	input.call.args.provider != ""
	sprintf("model:%s", [input.call.args.provider]) in readers
}

readable(readers) if {
	not egress
	input.principal.sub in readers
}

readable(readers) if {
	egress
	not crossing
	count(receivers) > 0
	every leaf in receivers {
		reaches(leaf, readers)
	}
}

receivers contains leaf if {
	some leaf in input.leaves
	leaf.sink in {"recipient", "url"}
}

reaches(leaf, readers) if {
	leaf.sink == "recipient"
	leaf.norm in readers
}

reaches(leaf, readers) if {
	leaf.sink == "recipient"
	leaf.host != ""
	leaf.host in readers
}

reaches(leaf, readers) if {
	leaf.sink == "url"
	leaf.host in readers
}

flows(from, to) if {
	from.rank >= to.rank
	covers(from.readers, to.readers)
	carries(to.tags, from.tags)
}

covers(readers, _) if "*" in readers

covers(readers, others) if {
	not "*" in others
	every r in others {
		r in readers
	}
}

carries(tags, _) if "*" in tags

carries(tags, others) if {
	every t in others {
		t in tags
	}
}
