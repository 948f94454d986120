package builtins

import (
	"fmt"
	"slices"
	"strings"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Leaf is one scalar of a call's arguments, with what policies want to know of it.
type Leaf struct {
	Path  string      // "to[0]", "payments[1].iban"; a key that is no name is quoted: headers["x y"]
	Param string      // "to"
	Value any         // nil, bool, int64, *big.Int, float64 or string; nil for a joined leaf
	Norm  string      // in the tool's normal form; "" if it has none
	Host  string      // of a URL or an address; else ""
	Sink  string      // a kind of sink
	Label label.Label // of reading the scalar
}

// MaxLeaves is how many leaves of a call are told apart. What remains of each container then is
// one leaf for each kind of sink in it, with a path such as "to[4096:]", no value, and the joined label.
const MaxLeaves = 4096

// Leaves returns the leaves of arguments, a dict by parameter name, in the order of the
// parameters. Nothing is left out: a container that is empty, which still tells its reader
// something, is a leaf without a value; so is a key of a dict, with "#key" after its path, unless the
// parameter's schema declares it. Bytes are leaves whose value is their text if they are UTF-8.
//
// An empty container names no recipient: it is a leaf at the sink "none" unless what
// is in it would be content.
func (t *Tool) Leaves(args value.Value) ([]Leaf, error) {
	if err := t.prepare(); err != nil {
		return nil, err
	}
	var w leafWalk
	for i := range t.Params {
		p := &t.Params[i]
		if v, ok := args.Get(p.Name); ok {
			w.param, w.kinds = p, t.compiled.sinkOf[i]
			w.walk(p.Name, v, label.Bottom(), t.compiled.sinks[i].root(), t.compiled.params[i].shape, 0)
		}
	}
	// Arguments that are not declared fail the check; whoever asks without it still sees them.
	for i, k := range args.Keys {
		declared := slices.ContainsFunc(t.Params, func(p Param) bool { return k.Kind == value.String && p.Name == k.Str })
		if !declared {
			name := keyPath("", k.Str)
			w.param, w.kinds = &Param{Name: name}, nil
			w.walk(name, args.Items[i], label.Bottom(), (&patterns{}).root(), nil, 0)
		}
	}
	return w.out, nil
}

type leafWalk struct {
	out   []Leaf
	param *Param
	kinds []string // of the parameter's patterns
}

func (w *leafWalk) sink(best int) string {
	switch {
	case best >= 0:
		return w.kinds[best]
	case w.param.Sink != "":
		return w.param.Sink
	}
	return sinkNone
}

func (w *leafWalk) walk(path string, v value.Value, via label.Label, at place, sh *shape, depth int) {
	via = via.Join(v.Label)
	if v.Scalar() {
		w.scalar(path, v, via, w.sink(at.best))
		return
	}
	via = via.Join(v.Structure)
	if len(v.Items) == 0 {
		s := w.sink(at.best)
		if s != sinkContent && s != sinkModel && s != sinkSecret {
			s = sinkNone
		}
		w.out = append(w.out, Leaf{Path: path, Param: w.param.Name, Sink: s, Label: via})
		return
	}
	for i, e := range v.Items {
		if len(w.out) >= MaxLeaves || depth > MaxDepth {
			w.joined(fmt.Sprintf("%s[%d:]", path, i), v, i, via, at)
			return
		}
		if v.Kind != value.Dict && v.Kind != value.Record {
			w.walk(indexPath(path, i), e, via, at.element(), sh.items(), depth+1)
			continue
		}
		k := v.Keys[i]
		below := keyPath(path, k.Str)
		if k.Kind != value.String {
			below = path + "[" + k.Text() + "]"
		}
		under := via.Join(k.Deep())
		if v.Kind == value.Dict && (k.Kind != value.String || sh.property(k.Str) == nil) {
			w.scalar(below+"#key", k, under, w.sink(at.best))
		}
		w.walk(below, e, under, at.key(k.Str), sh.property(k.Str), depth+1)
	}
}

func (w *leafWalk) scalar(path string, v value.Value, l label.Label, sink string) {
	leaf := Leaf{Path: path, Param: w.param.Name, Sink: sink, Label: l}
	switch {
	case v.Kind == value.Bytes:
		if s := strings.ToValidUTF8(v.Str, ""); s == v.Str {
			leaf.Value = s
		}
	case v.Scalar():
		leaf.Value = v.Plain()
	default: // a tuple that is a key
		leaf.Value = v.Text()
	}
	leaf.Norm, leaf.Host = w.param.normFor(sink)(leaf.Value)
	w.out = append(w.out, leaf)
}

// joined adds one leaf for each kind of sink that is, or could be, among the items of a container
// from one on.
func (w *leafWalk) joined(path string, v value.Value, from int, via label.Label, at place) {
	l := via
	for _, k := range v.Keys[min(from, len(v.Keys)):] {
		l = l.Join(k.Deep())
	}
	for _, e := range v.Items[from:] {
		l = l.Join(e.Deep())
	}
	sinks := []string{w.sink(at.best)}
	for _, i := range at.below() {
		sinks = append(sinks, w.kinds[i])
	}
	slices.Sort(sinks)
	for _, s := range slices.Compact(sinks) {
		w.out = append(w.out, Leaf{Path: path, Param: w.param.Name, Sink: s, Label: l})
	}
}
