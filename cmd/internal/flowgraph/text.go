package flowgraph

import (
	"fmt"
	"strings"

	"callgate/cmd/internal/console"
)

// shapes of nodes in DOT and Mermaid, by kind.
var (
	dotShapes     = map[kind]string{input: "note", source: "folder", turn: "ellipse", call: "box", raised: "hexagon", answer: "box3d"}
	mermaidShapes = map[kind][2]string{input: {"[/", "/]"}, source: {"[(", ")]"}, turn: {"([", "])"}, call: {"[", "]"}, raised: {"{{", "}}"}, answer: {"[[", "]]"}}
)

// words are the lines of a node.
func (n *node) words() []string {
	head := n.head()
	if name := stateNames[n.state]; name != "" {
		head += " (" + name + ")"
	}
	lines := []string{fit(head, 2*mostChars)}
	for _, r := range n.rows {
		if r.value == "" {
			continue
		}
		lines = append(lines, fit(strings.TrimPrefix(r.path+" = ", " = ")+r.value, mostChars))
	}
	for _, note := range n.notes {
		lines = append(lines, fit(note, mostChars))
	}
	return lines
}

// words are what stands at an edge.
func (e *edge) words() string {
	if e.flow != data {
		return ""
	}
	s := ""
	if e.row >= 0 {
		s = fit(e.to.rows[e.row].path, mostChars)
	}
	if e.refused {
		s = strings.TrimSpace(s + " REFUSED " + fit(some(unique(e.to.rows[e.row].rules), 2), mostChars))
	}
	return s
}

// DOT writes the graph in the language of Graphviz.
func (g *Graph) DOT() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph flow {\n\tgraph [rankdir=LR, label=%s, labelloc=t, fontname=monospace, fontsize=12]\n", dotText(g.heading()))
	b.WriteString("\tnode [fontname=monospace, fontsize=10, style=filled, fontcolor=\"" + ink + "\"]\n\tedge [fontname=monospace, fontsize=9]\n")
	for _, n := range g.nodes {
		fill := fills[n.kind]
		if f, ok := stateFills[n.state]; ok {
			fill = f
		}
		style := ""
		switch n.state {
		case refused:
			style = ", penwidth=2.4"
		case waiting, unknown:
			style = `, style="filled,dashed"`
		}
		fmt.Fprintf(&b, "\tn%d [shape=%s, label=%s, tooltip=%s, fillcolor=%q, color=%q%s]\n", n.n, dotShapes[n.kind], dotText(n.words()...), dotText(strings.Split(n.full(), "\n")...), fill[0], fill[1], style)
	}
	for _, e := range g.edges {
		s := e.stroke()
		style := "solid"
		switch {
		case e.flow != data:
			style = "dotted"
		case s.dash != "" && s.name == "untrusted":
			style = "dashed"
		}
		more := ""
		if e.refused {
			more = ", penwidth=2.4, arrowhead=teeopen, fontcolor=\"" + red + "\""
		}
		fmt.Fprintf(&b, "\tn%d -> n%d [label=%s, tooltip=%s, color=%q, style=%s%s]\n", e.from.n, e.to.n, dotText(e.words()), dotText(e.says()), s.color, style, more)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// dotText is a quoted text of lines. A backslash is written twice: DOT puts names of its own in place of some that are written once.
func dotText(lines ...string) string {
	for i, l := range lines {
		lines[i] = dotEscapes.Replace(console.Line(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// Mermaid writes the graph as a flow chart of Mermaid.
func (g *Graph) Mermaid() []byte {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, n := range g.nodes {
		shape := mermaidShapes[n.kind]
		var lines []string
		for _, l := range n.words() {
			lines = append(lines, mermaidText(l))
		}
		fmt.Fprintf(&b, "\tn%d%s\"%s\"%s\n", n.n, shape[0], strings.Join(lines, "<br/>"), shape[1])
		fill := fills[n.kind]
		if f, ok := stateFills[n.state]; ok {
			fill = f
		}
		width := "1px"
		if n.state == refused {
			width = "3px"
		}
		fmt.Fprintf(&b, "\tstyle n%d fill:%s,stroke:%s,stroke-width:%s,color:%s\n", n.n, fill[0], fill[1], width, ink)
	}
	for i, e := range g.edges {
		arrow := "-->"
		if e.refused {
			arrow = "--x"
		}
		text := ""
		if words := e.words(); words != "" {
			text = `|"` + mermaidText(words) + `"|`
		}
		fmt.Fprintf(&b, "\tn%d %s%s n%d\n", e.from.n, arrow, text, e.to.n)
		s := e.stroke()
		style := "stroke:" + s.color
		if s.dash != "" {
			style += ",stroke-dasharray:" + s.dash
		}
		if e.refused {
			style += ",stroke-width:3px"
		}
		fmt.Fprintf(&b, "\tlinkStyle %d %s\n", i, style)
	}
	return []byte(b.String())
}

// mermaidText is a text in which nothing means anything to Mermaid, to the Markdown in it, or to HTML: all but letters of ASCII, digits, blanks and a few marks
// are written by their numbers.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range console.Line(s) {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(" .,", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
