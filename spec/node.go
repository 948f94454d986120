package spec

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Documents are written in a part of YAML on which its versions and readers agree:
// no anchors, aliases, merge keys, tags or directives, no key twice, and no
// plain scalar that is one thing to YAML 1.1 and another to YAML 1.2.

// kind says what a node is.
type kind uint8

const (
	badNode kind = iota // already reported: nothing more is said of it
	nullNode
	boolNode
	intNode
	floatNode
	textNode
	listNode
	mapNode
)

// node is one value of a document with its place. A nil *node stands for a
// key that is not there; its methods give zero values.
type node struct {
	kind  kind
	pos   Position
	text  string // of a scalar
	odd   string // what readers disagree on, if they do
	b     bool
	i     int64
	f     float64
	keys  []*node // of a map
	items []*node // of a list, or the values of a map

	src   *source    // of a text, to map it to its place
	style yaml.Style // as written
}

// places gathers where the parts of a node are written, by path: entries of a map by their keys.
func (n *node) places(path string, out map[string]Position) {
	if n == nil {
		return
	}
	if _, there := out[path]; !there {
		out[path] = n.pos
	}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if n.kind == mapNode {
			at = path + "." + n.keys[i].text
			out[at] = n.keys[i].pos
		}
		item.places(at, out)
	}
}

// reader turns a YAML tree into nodes.
type reader struct {
	src    *source
	line   int // lines before the tree's document
	nodes  int
	report func(Problem)
}

func (r *reader) pos(y *yaml.Node) Position {
	return Position{r.src.name, y.Line + r.line, y.Column}
}

func (r *reader) problem(pos Position, hint, format string, args ...any) {
	r.report(Problem{Pos: pos, Text: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *reader) node(y *yaml.Node, depth int) *node {
	n := &node{pos: r.pos(y), text: y.Value, src: r.src, style: y.Style}
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.problem(n.pos, "", "got more than %d values in one file", maxNodes)
		}
		return n
	}
	if depth > maxDepth {
		r.problem(n.pos, "", "nested deeper than %d", maxDepth)
		return n
	}
	switch {
	case y.Kind == yaml.AliasNode:
		r.problem(n.pos, fmt.Sprintf("write the value out; a text that begins with * needs quotes: %q", "*"+y.Value),
			"aliases such as *%s are not read here", y.Value)
		return n
	case y.Anchor != "":
		r.problem(n.pos, fmt.Sprintf("write the value out where it is used; a text that begins with & needs quotes: %q", "&"+y.Anchor),
			"anchors such as &%s are not read here", y.Anchor)
		return n
	case y.Style&yaml.TaggedStyle != 0:
		r.problem(n.pos, "a text that begins with ! needs quotes", "tags such as %s are not read here", y.Tag)
		return n
	}
	switch y.Kind {
	case yaml.ScalarNode:
		r.scalar(n, y)
	case yaml.SequenceNode:
		n.kind = listNode
		for _, c := range y.Content {
			n.items = append(n.items, r.node(c, depth+1))
		}
	case yaml.MappingNode:
		n.kind = mapNode
		r.entries(n, y, depth)
	}
	return n
}

func (r *reader) entries(n *node, y *yaml.Node, depth int) {
	first := map[string]Position{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		key := r.node(k, depth+1)
		value := r.node(v, depth+1)
		if value.kind == nullNode && v.Value == "" {
			value.pos = key.pos // there is nothing to point at
		}
		switch {
		case key.kind == badNode:
			continue
		case k.Tag == "!!merge":
			r.problem(key.pos, "write the keys out", "merge keys are not read here")
			continue
		case key.odd != "":
			r.problem(key.pos, fmt.Sprintf("quote it: %q", key.text), "key %s: %s", key.text, key.odd)
			continue
		case key.kind != textNode:
			r.problem(key.pos, quoteHint(key), "key: got %s, want a text", key.describe())
			continue
		}
		if at, twice := first[key.text]; twice {
			r.problem(key.pos, "", "key %s: written twice, first in line %d", quoted(key.text), at.Line)
			continue
		}
		first[key.text] = key.pos
		n.keys, n.items = append(n.keys, key), append(n.items, value)
	}
}

var (
	coreInt = regexp.MustCompile(`^([-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+)$`)
	oldBool = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)
	base60  = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
)

func (r *reader) scalar(n *node, y *yaml.Node) {
	n.kind = textNode
	if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return
	}
	switch y.Tag {
	case "!!null":
		n.kind = nullNode
	case "!!bool":
		n.kind, n.b = boolNode, strings.EqualFold(y.Value, "true")
	case "!!int":
		n.kind = intNode
		n.integer(y.Value)
	case "!!float":
		n.kind = floatNode
		n.float(y.Value)
	default:
		switch {
		case oldBool.MatchString(y.Value):
			n.odd = "YAML 1.1 reads it as " + oldTruth(y.Value) + ", YAML 1.2 as a text"
		case base60.MatchString(y.Value):
			n.odd = "YAML 1.1 reads it as a number to the base of 60, YAML 1.2 as a text"
		case strings.Trim(y.Value, "+-0123456789._eE") == "" && strings.ContainsAny(y.Value, "0123456789") && tooLarge(y.Value):
			n.odd = "too large for a number"
		}
	}
}

func oldTruth(s string) string {
	if strings.EqualFold(s, "yes") || strings.EqualFold(s, "on") {
		return "true"
	}
	return "false"
}

func tooLarge(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	return err != nil && math.IsInf(f, 0)
}

func (n *node) integer(s string) {
	if !coreInt.MatchString(s) {
		n.odd = "YAML 1.1 and YAML 1.2 read it as different things"
		switch {
		case strings.Contains(s, "_"):
			n.odd = "YAML 1.1 reads it as a number, YAML 1.2 as a text"
		case strings.HasPrefix(strings.TrimLeft(s, "+-"), "0") && strings.Trim(s, "+-01234567") == "":
			n.odd = "YAML 1.1 reads it as an octal number, YAML 1.2 as a decimal one"
		}
		return
	}
	i, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 0, 64)
	if err != nil {
		n.odd = "too large for a whole number"
	}
	n.i = i
}

func (n *node) float(s string) {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case strings.Contains(s, "_"):
		n.odd = "YAML 1.1 reads it as a number, YAML 1.2 as a text"
	case coreDigits(s) && strings.HasPrefix(strings.TrimLeft(s, "+-"), "0"):
		n.odd = "YAML 1.1 reads it as a text, YAML 1.2 as a number"
	case err != nil && math.IsInf(f, 0) || err == nil && coreDigits(s):
		n.odd = "too large for a number that keeps its digits"
	case err != nil || math.IsInf(f, 0) || math.IsNaN(f):
		n.odd = "JSON has no such number"
	}
	n.f = f
}

// coreDigits reports whether the text is a whole number, which is a float only
// because it is too large.
func coreDigits(s string) bool { return strings.Trim(s, "+-0123456789") == "" }

// describe says what a node is, for messages.
func (n *node) describe() string {
	switch n.kind {
	case nullNode:
		return "nothing"
	case boolNode:
		return strings.ToLower(n.text)
	case intNode, floatNode:
		return "the number " + n.text
	case textNode:
		if strings.Contains(n.text, "\n") {
			return "a text of several lines"
		}
		return quoted(n.text)
	case listNode:
		return "a list"
	case mapNode:
		return "a map"
	}
	return "something else"
}

// quoteHint is the hint for a scalar that should have been a text.
func quoteHint(n *node) string {
	switch n.kind {
	case boolNode, intNode, floatNode:
		return fmt.Sprintf("quote it: %q", n.text)
	}
	return ""
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	if n != nil {
		for i, k := range n.keys {
			if k.text == key {
				return n.items[i]
			}
		}
	}
	return nil
}

// keyPos returns where a key is written, or the map's place.
func (n *node) keyPos(key string) Position {
	for _, k := range n.keys {
		if k.text == key {
			return k.pos
		}
	}
	return n.pos
}

// str returns a text, or "".
func (n *node) str() string {
	if n == nil || n.kind != textNode {
		return ""
	}
	return n.text
}

// truth reports whether the node is true.
func (n *node) truth() bool { return n != nil && n.kind == boolNode && n.b }

// list returns the items of a list, or none.
func (n *node) list() []*node {
	if n == nil || n.kind != listNode {
		return nil
	}
	return n.items
}

// strs returns the texts of a list, or nil if it is not there.
func (n *node) strs() []string {
	if n == nil || n.kind != listNode {
		return nil
	}
	out := []string{}
	for _, c := range n.items {
		if c.kind == textNode {
			out = append(out, c.text)
		}
	}
	return out
}

// at returns the place of a node that may not be there.
func (n *node) at() Position {
	if n == nil {
		return Position{}
	}
	return n.pos
}
