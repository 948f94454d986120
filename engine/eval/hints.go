package eval

// What to do about the mistakes that are made most, by the types of values: an error's [Error.Advice].

// notIterableHint says how to iterate over what cannot be.
func notIterableHint(v val) string {
	switch v.k {
	case kBytes:
		return "b.elems() gives its bytes, b.decode() the text in it"
	case kInt:
		return "range(n) counts from 0 to n - 1"
	case kNone:
		return noneHint
	case kStruct:
		return "read its fields one by one: x.name"
	}
	return ""
}

const noneHint = "the value is None: of a function without a return, of a method that changes its list or dict, or of get without a default"

// unboundHint is for a local variable that is read too early: most often it was taken for a global.
const unboundHint = "a function that assigns to a name has it for its own, everywhere in it: say global or nonlocal first, or return the new value"

// noFieldHint says how else a value is read.
func noFieldHint(v val) string {
	switch v.k {
	case kNone:
		return noneHint
	case kDict:
		return "the value of a key is d[\"key\"], or d.get(\"key\") where it may be missing"
	case kList, kTuple:
		return "take an element first: xs[0], or all of them in a loop"
	}
	return ""
}

// noIndexHint says how an element is taken of what has no index.
func noIndexHint(v val) string {
	switch v.k {
	case kNone:
		return noneHint
	case kSet:
		return "a set has no positions: make a list first, list(x)[i] or sorted(x)[i]"
	case kStruct:
		return "a field is x.name, or getattr(x, name)"
	case kFunc, kBuiltin:
		return "call it first: f(…)[i]"
	}
	return ""
}

// notCallableHint says what was meant by a call of what is no function.
func notCallableHint(v val) string {
	switch v.k {
	case kList, kTuple, kDict, kString:
		return "an element is x[i]; a name of the language may have been assigned to"
	case kModule:
		return "call one of its functions: module.name(…)"
	case kNone:
		return noneHint
	}
	return "a name of the language may have been assigned to"
}

// notDataHint says how data is made of what is none.
func notDataHint(v val) string {
	if c := ofClass(v); c != nil && (c.fields["day"] != nil || c.fields["hour"] != nil) {
		return "write x.isoformat()"
	}
	switch v.typeName() {
	case "timedelta":
		return "write x.total_seconds()"
	case "Match":
		return "write m.group()"
	case "Pattern":
		return "write p.pattern"
	}
	return ""
}

// unorderedHint says how values of two types, or of a type without an order, are compared.
func unorderedHint(a, b val) string {
	switch {
	case a.k == kNone || b.k == kNone:
		return "test for None first: x != None"
	case a.k == kString && b.isNum() || a.isNum() && b.k == kString:
		return "make both numbers, int(x) or float(x), or both strings, str(x)"
	case a.k == b.k && (a.k == kDict || a.k == kSet || a.k == kStruct):
		return "sort by something that has an order: sorted(xs, key = lambda x: …)"
	}
	return ""
}
