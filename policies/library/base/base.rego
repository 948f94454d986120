# METADATA
# title: What everybody may do
# description: |
#   Pure builtins, reading, starting a program, answering, showing to the model and asking a quarantined one (labels
#   decide which values). A program whose author was shown untrusted text reads, and nothing else.
#   Raising trust and widening readers ask a person, unless params say otherwise. Everything else is for other policies to allow.
package callgate.policy.base

import data.callgate.lib
import rego.v2

params := data.params.base

allow contains "base.builtin" if {
	input.call.kind == "builtin"
	not input.call.tool in params.refused_builtins
}

deny contains "base.builtin-refused" if {
	input.call.kind == "builtin"
	input.call.tool in params.refused_builtins
}

allow contains "base.program" if input.call.kind == "program"

allow contains "base.answer" if input.call.kind == "answer"

allow contains "base.observe" if input.call.kind == "observe"

deny contains {"id": "base.observe-untrusted", "args": ["value"]} if {
	input.call.kind == "observe"
	params.observe == "trusted"
	not input.labels.args.value.rank >= lib.level.internal
}

allow contains "base.model" if {
	input.call.kind == "model"
	params.model == true
}

allow contains "base.read" if {
	input.call.kind == "tool"
	input.call.effects == ["read"]
}

# Who wrote the program, not where it branched: a person's own program may loop over mails. The flow
# rule judges the branch; this rule cannot be lifted by an accept.
deny contains {"id": "base.untrusted-program", "msg": "the program's author was shown untrusted text"} if {
	input.call.kind == "tool"
	some effect in input.call.effects
	effect != "read"
	not input.labels.program.rank >= lib.level[params.program_trust]
	not input.call.tool in params.untrusted_programs_may_call
}

# endorse: none, ask, bool (a yes or no passes, anything else is refused), bounded (so do members of a list and small numbers).
allow contains "base.endorse" if {
	input.call.kind == "endorse"
	endorsable
}

ask contains {"id": "base.endorse-ask", "msg": "trust something that came from an untrusted source", "args": ["value"], "approvers": params.approvers} if {
	input.call.kind == "endorse"
	params.endorse == "ask"
}

endorsable if params.endorse == "ask"

endorsable if {
	params.endorse in {"bool", "bounded"}
	input.call.args.kind == "bool"
}

endorsable if {
	params.endorse == "bounded"
	input.call.args.kind in {"enum", "int"}
	input.call.args.bits <= params.endorse_bits
}

allow contains "base.declassify" if {
	input.call.kind == "declassify"
	params.declassify == "ask"
}

ask contains {"id": "base.declassify-ask", "msg": "let others read it", "args": ["value"], "approvers": params.approvers} if {
	input.call.kind == "declassify"
	params.declassify == "ask"
}
