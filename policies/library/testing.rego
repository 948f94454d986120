# METADATA
# title: Build a request for a test
# description: |
#   `t.call("mail.send", {"to": [t.typed("bob@corp.example")], "body": t.mail("…")})` gives values, labels and leaves that agree.
#   The tool must be in data.callgate.tools. `object.union` with the result changes whatever a test is about.
package callgate.testing

import rego.v2

# Labelled values. The rank is 0 untrusted, 1 internal, 2 user, 3 system; everybody may read.
value(v, rank, source) := {"$": v, "rank": rank, "readers": ["*"], "tags": [], "typed": false, "sources": [object.union({"field": ""}, source)], "choice": {"rank": 3, "bits": 0}}

typed(v) := object.union(value(v, 2, {"tool": "prompt", "of": "task"}), {"typed": true})

literal(v) := value(v, 2, {"tool": "prompt", "of": "task"})

mail(v) := value(v, 0, {"tool": "mail.read", "of": "inbox"})

file(v, name) := value(v, 1, {"tool": "files.read", "of": name})

tagged(v, tag) := object.union(value(v, 1, {"tool": "store.get", "of": tag}), {"tags": [tag]})

chosen(labelled, bits) := object.union(labelled, {"choice": {"rank": 0, "bits": bits}})

read_by(labelled, readers) := object.union(labelled, {"readers": readers})

# A call of a tool, or a crossing of another kind: answer, observe, endorse, …
call(tool, args) := request("tool", tool, args, {})

# A pure builtin has a name and the label of the control flow, and nothing else.
builtin(name) := document("builtin", name, [], {}, {}, [])

# patch changes anything; objects are merged deep.
request(kind, tool, args, patch) := object.union(document(kind, tool, data.callgate.tools[tool].effects, data.callgate.tools[tool].params, args, leaves_of(args)), patch)

document(kind, tool, effects, params, args, leaves) := {
	"version": "callgate/v1",
	"time": "2026-12-01T10:00:00Z",
	"agent": {"name": "test", "digest": "", "tools": [], "effects": []},
	"principal": {"sub": "ana@corp.example", "groups": [], "claims": {}},
	"session": {"id": "s", "run": "r", "turn": 1, "mode": "react"},
	"call": {
		"id": "1.9", "kind": kind, "tool": tool, "effects": effects,
		"sinks": [s | some s in {s | some s in params; s != "none"}],
		"args": plain(args, leaves),
		"site": {"file": "t.star", "line": 1, "column": 1, "function": "main"},
	},
	"labels": {
		"program": label([typed("")]),
		"pc": label([typed("")]),
		"context": label([typed("")]),
		"args": {param: label([leaf | some leaf in leaves; leaf.path[0] == param]) |
			some param, _ in params
			not contains(param, ".")
			not contains(param, "[")
		},
	},
	"tags": [tag | some tag in {tag | some leaf in leaves; some tag in leaf.tags}],
	"leaves": array.concat([leaf_doc(params, leaf) | some leaf in leaves], [pc_leaf]),
	"history": {"count": {}, "marks": []},
}

pc_leaf := object.union(label([typed("")]), {"path": "pc", "param": "pc", "value": "", "norm": "", "host": "", "sink": "control", "typed": false})

leaves_of(args) := [object.union(node, {"path": path}) |
	walk(args, [path, node])
	is_object(node)
	"$" in object.keys(node)
]

plain(args, leaves) := json.patch(args, [{"op": "replace", "path": leaf.path, "value": leaf["$"]} | some leaf in leaves])

trust := ["untrusted", "internal", "user", "system"]

label(leaves) := {
	"trust": trust[rank_of(leaves)],
	"rank": rank_of(leaves),
	"readers": readers_of(leaves),
	"tags": [tag | some tag in {tag | some l in leaves; some tag in l.tags}],
	"sources": [s | some s in {s | some l in leaves; some s in l.sources}],
	"more": false,
	"choice": {"rank": min(array.concat([3], [l.choice.rank | some l in leaves])), "bits": sum([l.choice.bits | some l in leaves])},
}

rank_of(leaves) := min(array.concat([3], [l.rank | some l in leaves]))

# Those who may read all of them.
readers_of(leaves) := ["*"] if {
	every l in leaves {
		"*" in l.readers
	}
} else := [r |
	some r in {r | some l in leaves; some r in l.readers; r != "*"}
	count([l | some l in leaves; not r in l.readers; not "*" in l.readers]) == 0
]

leaf_doc(params, leaf) := {
	"path": path_string(leaf.path),
	"param": leaf.path[0],
	"value": leaf["$"],
	"norm": lower(text(leaf["$"])),
	"host": host(lower(text(leaf["$"]))),
	"sink": sink(params, leaf.path),
	"typed": leaf.typed,
	"trust": trust[leaf.rank],
	"rank": leaf.rank,
	"readers": leaf.readers,
	"tags": leaf.tags,
	"sources": leaf.sources,
	"more": false,
	"choice": leaf.choice,
}

text(v) := v if is_string(v)

text(v) := sprintf("%v", [v]) if not is_string(v)

# The sink of a leaf: declared for its pattern, `argv[]`, `headers.*`, or for the parameter.
sink(params, path) := params[pattern(path)] if {
	pattern(path) in object.keys(params)
} else := params[wild(path)] if {
	wild(path) in object.keys(params)
} else := params[path[0]]

pattern(path) := concat("", array.concat([path[0]], [step(p) | some i, p in path; i > 0]))

wild(path) := concat("", [pattern(array.slice(path, 0, count(path) - 1)), ".*"])

step(p) := "[]" if is_number(p)

step(p) := concat("", [".", p]) if is_string(p)

path_string(path) := concat("", array.concat([path[0]], [index(p) | some i, p in path; i > 0]))

index(p) := sprintf("[%d]", [p]) if is_number(p)

index(p) := concat("", [".", p]) if is_string(p)

default host(_) := ""

host(s) := split(s, "@")[1] if {
	not contains(s, "://")
	count(split(s, "@")) == 2
}

host(s) := split(split(s, "/")[2], ":")[0] if contains(s, "://")
