# METADATA
# title: Helpers for policies
# description: |
#   Constants, not functions, where a comparison will do: `input.labels.args.iban.rank < lib.level.internal` keeps the rule
#   indexed, reads one field, and is the same in CEL (`level.internal`). Pass a field of a label to a helper, not the label.
package callgate.lib

import rego.v2

# One object and not four rules: a rule named `internal` would shadow the namespace that `in` compiles to.
level := {"untrusted": 0, "internal": 1, "user": 2, "system": 3}

# METADATA
# description: A file name – not a path, not an option. Anchored, no leading dash or dot.
is_filename(s) if {
	is_string(s)
	regex.match(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`, s)
}

# METADATA
# description: |
#   Every source of a label, or of a leaf, is one of the named resources. One that has none, or more
#   than it names (`more: true`), is not.
only_from(label, names) if {
	not label.more
	count(label.sources) > 0
	every s in label.sources {
		s.of in names
	}
}

# METADATA
# description: As only_from, for the tools (or kinds of input) that the value came from.
only_by(label, tools) if {
	not label.more
	count(label.sources) > 0
	every s in label.sources {
		s.tool in tools
	}
}

# METADATA
# description: The host is one of the list, or below an entry that begins with a dot (".example.com").
host_in(host, list) if host in list

host_in(host, list) if {
	some entry in list
	startswith(entry, ".")
	endswith(host, entry)
}

# METADATA
# description: The text begins with a folder of the list, and does not climb out of it.
path_in(path, folders) if {
	is_string(path)
	not ".." in split(path, "/")
	some folder in folders
	startswith(path, sprintf("%s/", [trim_suffix(folder, "/")]))
}
