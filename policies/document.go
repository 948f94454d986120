package policies

import (
	"slices"
	"strings"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

// The request document is what rules see of a [Request]: `input` in Rego, the
// variables of the same names in CEL. spec/decision.md describes it field by field
// and input.schema.json types it; this file alone says how it is made. Engines build
// only the fields that their rules read, each in its own representation, by giving [Fields.Write] a writer.

// A DocumentWriter receives the document in order. Keys are "" for elements of a list. The fields of
// one object arrive in the same order for every request; which arrive depends on the Fields alone,
// but for names announced by Dynamic and for call.state, which is there if the request has one.
type DocumentWriter interface {
	Begin(key string) // an object
	End()
	BeginList(key string, n int) // a list of objects
	EndList()
	String(key, s string)
	Strings(key string, list []string)
	Int(key string, i int64)
	Bool(key string, b bool)
	Value(key string, v value.Value) // an argument: its data only, see [PlainValue]
	Plain(key string, v any)         // nil, bool, int64, *big.Int, float64, string, []any, map[string]any

	// Dynamic announces that the next key is a name from the request: a
	// parameter, a granted tool, a claim.
	Dynamic(key string)
}

// Fields is a set of fields of the request document. The zero Fields is empty. It is
// read-only once made.
type Fields struct {
	plain  plainFields
	site   siteFields
	state  labelFields // with stateName and stateWrite
	labels [3]labelFields
	leaf   leafFields

	args      names // parameters whose value is read
	argLabels []argLabelFields
	anyArg    labelFields // of every parameter's label
	claims    names
	count     names

	vocabulary Vocabulary // tags that a label which carries every tag is shown with
	common     bool       // the key of a request is written without dynamic calls
}

// names is a set of names, or all of them.
type names struct {
	all  bool
	list []string // sorted
}

func (n names) empty() bool          { return !n.all && len(n.list) == 0 }
func (n names) has(name string) bool { return n.all || slices.Contains(n.list, name) }
func (n *names) add(name string)     { n.list = insert(n.list, name) }
func insert(l []string, s string) []string {
	if i, ok := slices.BinarySearch(l, s); !ok {
		l = slices.Insert(l, i, s)
	}
	return l
}

type argLabelFields struct {
	name string
	of   labelFields
}

type plainFields uint32

const (
	fieldVersion plainFields = 1 << iota
	fieldTime
	fieldAgentName
	fieldAgentDigest
	fieldAgentTools
	fieldAgentEffects
	fieldSub
	fieldGroups
	fieldSessionID
	fieldRun
	fieldTurn
	fieldMode
	fieldCallID
	fieldKind
	fieldTool
	fieldEffects
	fieldSinks
	fieldTags
	fieldMarks

	agentFields   = fieldAgentName | fieldAgentDigest | fieldAgentTools | fieldAgentEffects
	sessionFields = fieldSessionID | fieldRun | fieldTurn | fieldMode
	callFields    = fieldCallID | fieldKind | fieldTool | fieldEffects | fieldSinks
)

type siteFields uint8

const (
	siteFile siteFields = 1 << iota
	siteLine
	siteColumn
	siteFunction
	allSite = 1<<iota - 1
)

type labelFields uint16

const (
	labelTrust labelFields = 1 << iota
	labelRank
	labelReaders
	labelTags
	labelSources
	labelMore
	labelChoice
	allLabel   = 1<<iota - 1
	stateName  = 1 << 8 // of call.state alone
	stateWrite = 1 << 9
	allState   = allLabel | stateName | stateWrite
)

type leafFields uint16

const (
	leafPath leafFields = 1 << (8 + iota) // the lower byte holds labelFields
	leafParam
	leafValue
	leafNorm
	leafHost
	leafSink
	leafTyped
	allLeaf = 1<<(8+iota) - 1 - 1<<7
)

var plainPaths = map[string]plainFields{
	"version": fieldVersion, "time": fieldTime,
	"agent": agentFields, "agent.name": fieldAgentName, "agent.digest": fieldAgentDigest, "agent.tools": fieldAgentTools, "agent.effects": fieldAgentEffects,
	"principal.sub": fieldSub, "principal.groups": fieldGroups,
	"session": sessionFields, "session.id": fieldSessionID, "session.run": fieldRun, "session.turn": fieldTurn, "session.mode": fieldMode,
	"call.id": fieldCallID, "call.kind": fieldKind, "call.tool": fieldTool, "call.effects": fieldEffects, "call.sinks": fieldSinks,
	"tags": fieldTags, "history.marks": fieldMarks,
}

var sitePaths = map[string]siteFields{"file": siteFile, "line": siteLine, "column": siteColumn, "function": siteFunction}

var labelPaths = map[string]labelFields{
	"trust": labelTrust, "rank": labelRank, "readers": labelReaders, "tags": labelTags,
	"sources": labelSources, "more": labelMore, "choice": labelChoice,
}

var leafPaths = map[string]leafFields{
	"path": leafPath, "param": leafParam, "value": leafValue, "norm": leafNorm, "host": leafHost, "sink": leafSink, "typed": leafTyped,
}

// Vocabulary is the tags that rules look for: those that a label which carries every tag is shown with, besides "*". It is made
// by [NewVocabulary], sorted, and read-only; nil is that of no rules.
type Vocabulary []string

var standardVocabulary = Vocabulary{"*", "pii", "secret"}

// NewVocabulary returns the tags of the lists, and those that are always in it: pii and secret.
func NewVocabulary(lists ...[]string) Vocabulary {
	all := slices.Concat(append(lists, standardVocabulary)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// AllFields returns the whole document.
func AllFields() Fields { return NewFields([]string{""}, nil) }

// NewFields returns the set of the fields named as [Rules].Reads names them, a field
// covering what is below it; "" is the whole document. A path that is not a field of the
// document stands for the nearest object above it that is.
//
// A label that carries every tag has "*" in its tags and all of the vocabulary, so that a rule that looks for one finds it.
func NewFields(reads []string, vocabulary Vocabulary) Fields {
	f := Fields{vocabulary: vocabulary}
	if vocabulary == nil {
		f.vocabulary = standardVocabulary
	}
	for _, path := range reads {
		f.add(path)
	}
	f.common = f.isCommon()
	return f
}

func (f *Fields) add(path string) {
	if bits, ok := plainPaths[path]; ok {
		f.plain |= bits
		return
	}
	head, rest, _ := strings.Cut(path, ".")
	switch head {
	case "leaves":
		f.leaf |= leafOf(rest)
	case "labels":
		f.addLabels(rest)
	case "call":
		f.addCall(rest)
	case "principal":
		of, name, _ := strings.Cut(rest, ".")
		if of != "claims" {
			f.plain |= fieldSub | fieldGroups
		}
		name, _, _ = strings.Cut(name, ".")
		addName(&f.claims, name)
	case "history":
		of, name, _ := strings.Cut(rest, ".")
		if of != "count" {
			f.plain |= fieldMarks
		}
		addName(&f.count, name)
	default:
		if parent, ok := plainPaths[head]; ok { // below a field that has nothing below, or an unknown field of it
			f.plain |= parent
			return
		}
		f.addAll()
	}
}

func addName(n *names, path string) {
	if path == "" || path == "*" {
		n.all = true
	} else {
		n.add(path)
	}
}

func (f *Fields) addAll() {
	f.plain, f.site, f.state, f.leaf = ^plainFields(0), allSite, allState, allLeaf
	f.labels = [3]labelFields{allLabel, allLabel, allLabel}
	f.anyArg = allLabel
	f.args.all, f.claims.all, f.count.all = true, true, true
}

func (f *Fields) addCall(path string) {
	head, rest, _ := strings.Cut(path, ".")
	switch head {
	case "args":
		name, _, _ := strings.Cut(rest, ".")
		addName(&f.args, name)
	case "site":
		f.site |= siteOf(rest)
	case "state":
		f.state |= stateOf(rest)
	default:
		if bits, ok := plainPaths["call."+head]; ok {
			f.plain |= bits
			return
		}
		f.plain |= callFields
		f.args.all, f.site, f.state = true, allSite, allState
	}
}

func (f *Fields) addLabels(path string) {
	head, rest, _ := strings.Cut(path, ".")
	switch head {
	case "program":
		f.labels[0] |= labelOf(rest)
	case "pc":
		f.labels[1] |= labelOf(rest)
	case "context":
		f.labels[2] |= labelOf(rest)
	case "args":
		name, field, _ := strings.Cut(rest, ".")
		if name == "" || name == "*" {
			f.anyArg |= labelOf(field)
			return
		}
		i, ok := slices.BinarySearchFunc(f.argLabels, name, func(a argLabelFields, n string) int { return strings.Compare(a.name, n) })
		if !ok {
			f.argLabels = slices.Insert(f.argLabels, i, argLabelFields{name: name})
		}
		f.argLabels[i].of |= labelOf(field)
	default:
		f.labels = [3]labelFields{allLabel, allLabel, allLabel}
		f.anyArg = allLabel
	}
}

func labelOf(path string) labelFields {
	head, _, _ := strings.Cut(path, ".")
	if bits, ok := labelPaths[head]; ok {
		return bits
	}
	return allLabel
}

func siteOf(path string) siteFields {
	if bits, ok := sitePaths[path]; ok {
		return bits
	}
	return allSite
}

func stateOf(path string) labelFields {
	head, rest, _ := strings.Cut(path, ".")
	switch head {
	case "name":
		return stateName
	case "write":
		return stateWrite
	case "label":
		return labelOf(rest)
	}
	return allState
}

func leafOf(path string) leafFields {
	head, _, _ := strings.Cut(path, ".")
	if bits, ok := leafPaths[head]; ok {
		return bits
	}
	if bits, ok := labelPaths[head]; ok {
		return leafFields(bits)
	}
	return allLeaf
}

// ReadsHistory reports whether a field of history is among them.
func (f *Fields) ReadsHistory() bool { return f.plain&fieldMarks != 0 || !f.count.empty() }

// Write writes the fields of the request's document, between the Begin and End of the document itself.
func (f *Fields) Write(r *Request, w DocumentWriter) {
	w.Begin("")
	if f.plain&fieldVersion != 0 {
		w.String("version", Version)
	}
	if f.plain&fieldTime != 0 {
		w.String("time", r.Time.UTC().Format(time.RFC3339Nano))
	}
	if f.plain&agentFields != 0 {
		w.Begin("agent")
		f.string(w, fieldAgentName, "name", r.Agent.Name)
		f.string(w, fieldAgentDigest, "digest", r.Agent.Digest)
		f.strings(w, fieldAgentTools, "tools", r.Agent.Tools)
		f.strings(w, fieldAgentEffects, "effects", r.Agent.Effects)
		w.End()
	}
	f.writePrincipal(&r.Principal, w)
	if f.plain&sessionFields != 0 {
		w.Begin("session")
		f.string(w, fieldSessionID, "id", r.Session.ID)
		f.string(w, fieldRun, "run", r.Session.Run)
		if f.plain&fieldTurn != 0 {
			w.Int("turn", int64(r.Session.Turn))
		}
		f.string(w, fieldMode, "mode", r.Session.Mode)
		w.End()
	}
	f.writeCall(&r.Call, w)
	f.writeLabels(&r.Labels, w)
	if f.plain&fieldTags != 0 {
		w.Strings("tags", f.ShowTags(r.Tags))
	}
	if k, ok := w.(*keyWriter); ok && f.leaf != 0 {
		k.leaves(f, r.Leaves)
	} else if f.leaf != 0 {
		w.BeginList("leaves", len(r.Leaves))
		for i := range r.Leaves {
			f.writeLeaf(&r.Leaves[i], w)
		}
		w.EndList()
	}
	f.writeHistory(&r.History, w)
	w.End()
}

func (f *Fields) string(w DocumentWriter, bit plainFields, key, s string) {
	if f.plain&bit != 0 {
		w.String(key, s)
	}
}

func (f *Fields) strings(w DocumentWriter, bit plainFields, key string, list []string) {
	if f.plain&bit != 0 {
		w.Strings(key, list)
	}
}

func (f *Fields) writePrincipal(p *Principal, w DocumentWriter) {
	if f.plain&(fieldSub|fieldGroups) == 0 && f.claims.empty() {
		return
	}
	w.Begin("principal")
	f.string(w, fieldSub, "sub", p.Sub)
	f.strings(w, fieldGroups, "groups", p.Groups)
	if !f.claims.empty() {
		w.Begin("claims")
		for _, k := range slices.Sorted(keysOf(p.Claims)) {
			if f.claims.has(k) {
				w.Dynamic(k)
				w.Plain(k, p.Claims[k])
			}
		}
		w.End()
	}
	w.End()
}

func (f *Fields) writeCall(c *Call, w DocumentWriter) {
	if f.plain&callFields == 0 && f.args.empty() && f.site == 0 && f.state == 0 {
		return
	}
	w.Begin("call")
	f.string(w, fieldCallID, "id", c.ID)
	f.string(w, fieldKind, "kind", c.Kind)
	f.string(w, fieldTool, "tool", c.Tool)
	f.strings(w, fieldEffects, "effects", c.Effects)
	f.strings(w, fieldSinks, "sinks", c.Sinks)
	if !f.args.empty() {
		w.Begin("args")
		for i, k := range c.Args.Keys {
			if f.args.has(k.Str) {
				w.Dynamic(k.Str)
				w.Value(k.Str, c.Args.Items[i])
			}
		}
		w.End()
	}
	if f.site != 0 {
		w.Begin("site")
		if f.site&siteFile != 0 {
			w.String("file", c.Site.File)
		}
		if f.site&siteLine != 0 {
			w.Int("line", int64(c.Site.Line))
		}
		if f.site&siteColumn != 0 {
			w.Int("column", int64(c.Site.Column))
		}
		if f.site&siteFunction != 0 {
			w.String("function", c.Site.Function)
		}
		w.End()
	}
	if f.state != 0 && c.State != nil {
		w.Begin("state")
		if f.state&stateName != 0 {
			w.String("name", c.State.Name)
		}
		if f.state&stateWrite != 0 {
			w.Bool("write", c.State.Write)
		}
		if f.state&allLabel != 0 {
			f.writeLabel("label", c.State.Label, f.state, w)
		}
		w.End()
	}
	w.End()
}

func (f *Fields) writeLabels(l *Labels, w DocumentWriter) {
	args := f.anyArg != 0 || len(f.argLabels) > 0
	if f.labels[0]|f.labels[1]|f.labels[2] == 0 && !args {
		return
	}
	w.Begin("labels")
	for i, of := range [...]struct {
		key string
		l   label.Label
	}{{"program", l.Program}, {"pc", l.PC}, {"context", l.Context}} {
		if f.labels[i] != 0 {
			f.writeLabel(of.key, of.l, f.labels[i], w)
		}
	}
	if args {
		w.Begin("args")
		for i := range l.Args {
			bits := f.anyArg
			for j := range f.argLabels {
				if f.argLabels[j].name == l.Args[i].Name {
					bits |= f.argLabels[j].of
				}
			}
			if bits != 0 {
				w.Dynamic(l.Args[i].Name)
				f.writeLabel(l.Args[i].Name, l.Args[i].Label, bits, w)
			}
		}
		w.End()
	}
	w.End()
}

func (f *Fields) writeLabel(key string, l label.Label, bits labelFields, w DocumentWriter) {
	if k, ok := w.(*keyWriter); ok {
		k.label(f, l, bits)
		return
	}
	w.Begin(key)
	f.writeLabelFields(l, bits, w)
	w.End()
}

var everybody = []string{"*"}

func (f *Fields) writeLabelFields(l label.Label, bits labelFields, w DocumentWriter) {
	if bits&labelTrust != 0 {
		w.String("trust", l.Trust().String())
	}
	if bits&labelRank != 0 {
		w.Int("rank", int64(l.Trust()))
	}
	if bits&labelReaders != 0 {
		names := everybody
		if r := l.Readers(); !r.IsPublic() {
			names = r.Names()
		}
		w.Strings("readers", names)
	}
	if bits&labelTags != 0 {
		w.Strings("tags", f.ShowTags(l.Tags()))
	}
	if bits&labelSources != 0 {
		sources := l.Sources()
		w.BeginList("sources", len(sources))
		for _, s := range sources {
			w.Begin("")
			w.String("tool", s.Tool)
			w.String("of", s.Of)
			w.String("field", s.Field)
			w.End()
		}
		w.EndList()
	}
	if bits&labelMore != 0 {
		w.Bool("more", l.More())
	}
	if bits&labelChoice != 0 {
		c := l.Choice()
		w.Begin("choice")
		w.Int("rank", int64(c.Trust))
		w.Int("bits", int64(c.Bits))
		w.End()
	}
}

func (f *Fields) writeLeaf(l *Leaf, w DocumentWriter) {
	w.Begin("")
	if f.leaf&leafPath != 0 {
		w.String("path", l.Path)
	}
	if f.leaf&leafParam != 0 {
		w.String("param", l.Param)
	}
	if f.leaf&leafValue != 0 {
		w.Plain("value", l.Value)
	}
	if f.leaf&leafNorm != 0 {
		w.String("norm", l.Norm)
	}
	if f.leaf&leafHost != 0 {
		w.String("host", l.Host)
	}
	if f.leaf&leafSink != 0 {
		w.String("sink", l.Sink)
	}
	if f.leaf&leafTyped != 0 {
		w.Bool("typed", l.Typed)
	}
	f.writeLabelFields(l.Label, labelFields(f.leaf)&allLabel, w)
	w.End()
}

func (f *Fields) writeHistory(h *History, w DocumentWriter) {
	if !f.ReadsHistory() {
		return
	}
	w.Begin("history")
	if !f.count.empty() {
		w.Begin("count")
		if f.count.all {
			for _, k := range slices.Sorted(keysOf(h.Count)) {
				w.Dynamic(k)
				w.Int(k, int64(h.Count[k]))
			}
		} else {
			for _, k := range f.count.list {
				if n, ok := h.Count[k]; ok {
					w.Dynamic(k)
					w.Int(k, int64(n))
				}
			}
		}
		w.End()
	}
	if f.plain&fieldMarks != 0 {
		w.Strings("marks", h.Marks)
	}
	w.End()
}

// ShowTags returns a label's tags as the document has them: one that carries every tag carries each
// that a rule may look for.
func (f *Fields) ShowTags(tags []string) []string {
	if len(tags) == 0 || tags[0] != "*" && !slices.Contains(tags, "*") {
		return tags
	}
	out := slices.Clone(f.vocabulary)
	for _, t := range tags {
		out = insert(out, t)
	}
	return out
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
