# What obligations deny, in Rego: one that is unknown or malformed denies, and so do two that contradict each other.
package callgate.decision

import rego.v2

obligation_denials(chosen) := {{"policy": o.policy, "effect": "deny", "id": "core.obligation"} |
	some o in obligations_of(chosen)
	not fulfillable(o, chosen)
}

obligations_of(chosen) := [object.union(o, {"policy": name}) |
	some name in chosen
	some o in data.callgate.policy[name].obligations
	not audited(object.union(o, {"policy": name}))
]

fulfillable(o, chosen) if {
	well_formed(o)
	every other in obligations_of(chosen) {
		agree(o, other)
	}
}

# Limits of one name, and redactions of one path, must be the same.
agree(a, b) if subject(a) != subject(b)

agree(a, b) if object.remove(a, ["policy", "mode", "id"]) == object.remove(b, ["policy", "mode", "id"])

subject(o) := ["limit", object.get(o, "id", "")] if o.type == "limit"

subject(o) := ["redact", object.get(o, "path", "")] if o.type == "redact"

subject(o) := o if not o.type in {"limit", "redact"}

well_formed(o) if {
	o.type == "redact"
	startswith(o.path, "/")
}

well_formed(o) if {
	o.type == "label"
	fields := object.remove(o, ["type", "id", "mode", "policy"])
	count(fields) > 0
	every key, value in fields {
		label_field(key, value)
	}
}

well_formed(o) if {
	o.type == "limit"
	o.id != ""
	whole(o.max)
	countable(object.get(o, "cost", 1))
	texts(object.get(o, "per", []))
	every scope in object.get(o, "per", []) {
		scope in {"agent", "principal", "run", "session", "tool"}
	}
	duration(object.get(o, "window", "1h"))
	object.get(o, "over", "deny") in {"deny", "ask"}
}

well_formed(o) if {
	o.type == "mark"
	is_string(o.name)
	o.name != ""
	object.get(o, "scope", "run") in {"run", "session"}
}

well_formed(o) if {
	o.type == "isolate"
	o.tier in {"none", "process", "container"}
}

well_formed(o) if {
	o.type == "mask"
	startswith(o.path, "/args/")
	o.path != "/args/"
}

well_formed(o) if o.type == "notify"

duration(text) if {
	regex.match(`^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$`, text)
	time.parse_duration_ns(text) > 0
}

whole(n) if {
	is_number(n)
	n >= 0
	floor(n) == n
}

# What a limit counts: what the rule computed, or what the gate does.
countable(cost) if whole(cost)

countable(cost) if cost in {"accounts", "bits", "calls", "recipients", "urls"}

label_field("trust", value) if is_string(value)

label_field(key, value) if {
	key in {"tags", "readers", "trust"}
	texts(value)
}

texts(list) if {
	is_array(list)
	every x in list {
		is_string(x)
	}
}

texts(list) if {
	is_set(list)
	every x in list {
		is_string(x)
	}
}
