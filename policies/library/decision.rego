# METADATA
# title: The decision, in Rego
# description: |
#   What the engine does, so that stock `opa test` can assert an effect and not only a set: the flow rule, what accept lifts,
#   and combining. Deny vetoes, allow grants, ask qualifies a grant: an ask that nothing allows is a default deny, and nobody is asked in vain.
#   `decision.effect` combines every policy loaded, `decision.by({"mail", "egress"}).effect` some of them.
package callgate.decision

import rego.v2

effect := by(names).effect

would := by(names).would

names contains name if some name, _ in data.callgate.policy

by(chosen) := {"effect": effect_of(live), "would": effect_of(all), "reasons": reasons} if {
	rules := {object.union(as_object(element), {"policy": name, "effect": kind}) |
		some name in chosen
		some kind in ["deny", "ask", "allow"]
		some element in data.callgate.policy[name][kind]
	}
	flowed := {{"policy": "flow", "effect": "deny", "id": f.id, "args": [f.path]} | some f in flow}
	broken := obligation_denials(chosen)
	live := ({r | some r in rules; not audited(r)} | broken) | {f | some f in flowed; not f.args[0] in accepted(chosen, false)}
	all := (rules | broken) | {f | some f in flowed; not f.args[0] in accepted(chosen, true)}
	reasons := [r | some r in (live | all)]
}

# A policy that is in audit mode as a whole is not named in its elements: tests say so in data.callgate.audit.
audited(r) if r.mode == "audit"

audited(r) if r.policy in data.callgate.audit

# The paths that accepts name; those in audit mode count for `would` alone.
accepted(chosen, auditing) := {element.path |
	some name in chosen
	some element in data.callgate.policy[name].accept
	counts(object.union(element, {"policy": name}), auditing)
}

counts(_, true)

counts(element, false) if not audited(element)

as_object(element) := {"id": element} if is_string(element)

as_object(element) := element if is_object(element)

effect_of(reasons) := strictest({r.effect | some r in reasons})

strictest(effects) := "deny" if {
	"deny" in effects
} else := "deny" if {
	not "allow" in effects
} else := "ask" if {
	"ask" in effects
} else := "allow"
