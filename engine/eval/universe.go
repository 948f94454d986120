package eval

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"callgate/engine/label"
)

// universe holds the functions and constants that every program can name. methods holds, by
// name and kind, those of values. Both are made once and never change.
var (
	universe    = map[string]val{}
	methods     = map[string]*[kinds]*builtin{}
	methodNames = map[string]bool{}
	methodsOf   [kinds][]string

	// decided lists the builtins that policies decide on, by index; index 0 is not used.
	decided = []string{""}
)

// def describes a builtin. Its parameters are written as in Starlark, without
// defaults: "iterable, *, key?, reverse?" – a question mark means optional, what follows * is by
// name only, and "..." means any number of positional arguments and others by name.
func def(name, params string, run native) *builtinDef {
	d := &builtinDef{name: name, run: run}
	decided = append(decided, name)
	d.index = len(decided) - 1
	if params == "..." {
		d.variadic = true
		return d
	}
	d.params = []string{}
	star := false
	for p := range strings.SplitSeq(params, ",") {
		p = strings.TrimSpace(p)
		switch {
		case p == "":
			continue
		case p == "*":
			star = true
			continue
		}
		name, optional := strings.CutSuffix(p, "?")
		d.params = append(d.params, name)
		if !optional {
			d.required = len(d.params)
		}
		if star {
			d.kwonly++
		}
	}
	return d
}

// addFunc adds a function to the universe.
func addFunc(name, params string, run native) {
	universe[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: def(name, params, run)}, label.BottomID)
}

// addMethod adds a method of values of kind k.
func addMethod(k kind, name, params string, run native) {
	d := def(k.typeName()+"."+name, params, run)
	d.name, d.inplace = name, mutators[name] && name != "sort"
	m := methods[name]
	if m == nil {
		m = &[kinds]*builtin{}
		methods[name] = m
	}
	m[k] = &builtin{name: name, recv: unboundVal, def: d}
	methodNames[name] = true
	methodsOf[k] = append(methodsOf[k], name)
}

func (k kind) typeName() string { return kindNames[k] }

var noMethods [kinds]*builtin

// methodsNamed returns the methods of a name, by kind.
func methodsNamed(name string) *[kinds]*builtin {
	if m := methods[name]; m != nil {
		return m
	}
	return &noMethods
}

// methodNamesOf returns the methods of a kind, sorted.
func methodNamesOf(k kind) []string { return methodsOf[k] }

func init() {
	universe["None"] = noneVal(label.BottomID)
	universe["True"] = boolVal(true, label.BottomID)
	universe["False"] = boolVal(false, label.BottomID)
	addFunctions()
	addNumberFunctions()
	addStringMethods()
	addContainerMethods()
	addCrossings()
	addSpecials()
	addTypeNames()
	universe["json"] = moduleVal(jsonModule(), label.BottomID)
	addModules()
	addExceptions()
	for k := range methodsOf {
		slices.Sort(methodsOf[k])
	}
}

// module is a namespace: of tools, or of functions that come with the language. It never changes.
type module struct {
	name  string
	attrs map[string]val
}

func (m *module) names() []string {
	out := make([]string, 0, len(m.attrs))
	for n := range m.attrs {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// makeModule makes a module of functions.
func makeModule(name string, funcs map[string]*builtinDef) *module {
	m := &module{name, map[string]val{}}
	for n, d := range funcs {
		m.attrs[n] = builtinVal(&builtin{name: n, recv: unboundVal, def: d}, label.BottomID)
	}
	return m
}

// mostNames is among how many names of a program what was meant is looked for.
const mostNames = 200

// nearest returns " (did you mean x?)" if one of the names is close to what was written, case and underscores aside.
func nearest(name string, names []string) string { return nearestTo(name, names, "") }

// nearestField is nearest with a point before the name.
func nearestField(name string, names []string) string { return nearestTo(name, names, ".") }

func nearestTo(name string, names []string, point string) string {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	written := fold(clip(name))
	best, at := "", 3
	if len(written) <= 3 {
		at = 2
	}
	for _, n := range names[:min(len(names), 2*mostNames)] {
		if len(n) > 64 || n == name {
			continue
		}
		folded := fold(n)
		if len(folded)-len(written) > 3 || len(written)-len(folded) > 3 {
			continue
		}
		if d := levenshtein.ComputeDistance(written, folded); d < at {
			best, at = n, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + point + best + "?)"
}
