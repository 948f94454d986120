# METADATA
# title: Rate and spend
# description: |
#   How often a tool is called in a run and in an hour by one principal, and what a run spends. The gate
#   counts, before it acts; this policy says what to count.
package callgate.policy.rate

import rego.v2

params := data.params.rate

obligations contains {
	"type": "limit", "id": "rate.run", "per": ["run", "tool"],
	"max": params.per_run[input.call.tool], "cost": 1, "over": params.over,
} if {
	input.call.kind == "tool"
	params.per_run[input.call.tool]
}

obligations contains {
	"type": "limit", "id": "rate.hour", "per": ["principal", "tool"], "window": "1h",
	"max": params.per_hour[input.call.tool], "cost": 1, "over": params.over,
} if {
	input.call.kind == "tool"
	params.per_hour[input.call.tool]
}

# What a call spends is the numbers of one of the names; one that is no number is no price.
prices := [leaf.value |
	some leaf in input.leaves
	some name in params.amounts
	regex.match(sprintf(`(^|[.])%s$`, [name]), leaf.path)
]

spends if {
	input.call.kind == "tool"
	input.call.tool in params.spending_tools
}

priced if {
	count(prices) > 0
	every p in prices {
		is_number(p)
		p >= 0
	}
}

deny contains "rate.price" if {
	spends
	not priced
}

obligations contains {
	"type": "limit", "id": "rate.spend", "per": ["run"],
	"max": params.spend_per_run, "cost": sum(prices), "over": params.over,
} if {
	spends
	priced
}

obligations contains {
	"type": "limit", "id": "rate.endorse", "per": ["session"],
	"max": params.endorsed_bits, "cost": input.call.args.bits, "over": "deny",
} if {
	input.call.kind in {"endorse", "declassify"}
	is_number(input.call.args.bits)
}
