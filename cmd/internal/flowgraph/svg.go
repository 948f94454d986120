package flowgraph

import (
	"fmt"
	"strings"
	"unicode"

	"callgate/cmd/internal/console"
	"callgate/engine/label"
)

// The look of the picture: boxes are light and their text dark, and lines of a middle tone, so that it can stand on any ground. What colours
// say, lines and words say too.
const (
	headHeight = 34
	font       = `font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"`
	ink        = "#1f2328"
	faint      = "#57606a"
	middle     = "#7d858e" // on dark and on light
	red        = "#c92a2a"
)

// stroke is the look of an edge.
type stroke struct{ name, color, dash string }

// strokes are the looks of data, by trust.
var strokes = map[label.Trust]stroke{
	label.Untrusted: {"untrusted", "#d9480f", "5 3"},
	label.Internal:  {"internal", "#1c7ed6", "12 4"},
	label.User:      {"user", "#2f9e44", ""},
	label.System:    {"system", "#7048e8", "12 3 2 3"},
}

var (
	grantedStroke = stroke{"endorsement", "#b08800", "1.5 3"}
	orderStroke   = stroke{"order", "#98a1ab", "1 4"}
)

func (e *edge) stroke() stroke {
	switch e.flow {
	case granted:
		return grantedStroke
	case order:
		return orderStroke
	}
	return strokes[e.trust]
}

// fills are the colours of boxes and of their rims.
var fills = map[kind][2]string{
	input: {"#e7f5ff", "#74a9cf"}, source: {"#f1f3f5", "#98a1ab"}, turn: {"#f3f0ff", "#9775fa"}, call: {"#ffffff", "#868e96"},
	raised: {"#fff9db", "#e0a800"}, answer: {"#ebfbee", "#51a862"},
}

var stateFills = map[state][2]string{
	refused: {"#fff0f0", red}, failed: {"#fff4e6", "#d9480f"}, waiting: {"#fff9db", "#b08800"}, unknown: {"#fff4e6", "#d9480f"},
}

// svg writes markup.
type svg struct{ strings.Builder }

func (w *svg) put(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// SVG draws the picture. It has no script, no link, and nothing that is fetched.
func (g *Graph) SVG() []byte {
	p := g.lay()
	width := max(p.w, 720)
	height := max(p.h, 80) + 30
	w := new(svg)
	w.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" %s font-size="11">`, width, height, width, height, font)
	w.put(`<title>%s</title>`, markup(g.heading()))
	w.put(`<text x="%d" y="22" font-size="13" font-weight="bold" fill="%s">%s</text>`, margin, middle, markup(fit(g.heading(), 120)))
	for _, r := range p.routes {
		if !r.refused {
			w.route(p, r)
		}
	}
	for _, n := range p.nodes {
		w.node(n)
	}
	for _, r := range p.routes {
		if r.refused {
			w.route(p, r)
		}
	}
	w.legend(height - 16)
	w.put(`</svg>`)
	return []byte(w.String())
}

// heading is the title of the picture.
func (g *Graph) heading() string {
	s := "flow of data in " + g.title
	if g.more {
		s += fmt.Sprintf(": the first %d things that happened", maxNodes)
	}
	return s
}

// node draws a box with its lines.
func (w *svg) node(n *node) {
	l := n.layout
	fill := fills[n.kind]
	if f, ok := stateFills[n.state]; ok {
		fill = f
	}
	round := 3
	if n.kind == turn || n.kind == answer {
		round = 10
	}
	rim, dash := 1.2, ""
	switch n.state {
	case refused:
		rim = 2.4
	case waiting, unknown:
		rim, dash = 1.8, ` stroke-dasharray="4 3"`
	}
	w.put(`<g><title>%s</title>`, markup(n.full()))
	w.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%d" fill="%s" stroke="%s" stroke-width="%.1f"%s/>`, l.x, l.y, l.w, l.h, round, fill[0], fill[1], rim, dash)
	for i, line := range l.lines {
		y := l.y + padY + float64(i)*lineHeight + lineHeight*0.72
		x := l.x + padX
		switch {
		case i == 0:
			w.put(`<text x="%.1f" y="%.1f" font-weight="bold" fill="%s">%s</text>`, x, y, ink, markup(line.text))
			if name := stateNames[n.state]; name != "" {
				w.put(`<text x="%.1f" y="%.1f" text-anchor="end" font-weight="bold" fill="%s">%s</text>`, l.x+l.w-padX, y, fill[1], name)
			}
		case line.mark:
			w.put(`<text x="%.1f" y="%.1f" font-style="italic" fill="%s">%s</text>`, x+2*charWidth, y, fill[1], markup(line.text))
		case line.row == -2:
			w.put(`<text x="%.1f" y="%.1f" font-style="italic" fill="%s">%s</text>`, x, y, faint, markup(line.text))
		default:
			w.put(`<text x="%.1f" y="%.1f" fill="%s">%s</text>`, x, y, ink, markup(line.text))
		}
	}
	w.put(`</g>`)
}

// full is all that is said of a node, in lines.
func (n *node) full() string {
	lines := []string{n.head()}
	for _, r := range n.rows {
		if len(n.calls) == 0 {
			lines = append(lines, strings.TrimPrefix(r.path+" = ", " = ")+cut(r.value, maxValue)+"  "+r.label.String())
		}
	}
	const most = 40
	for i, t := range n.tip {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(n.tip)-i))
			break
		}
		lines = append(lines, t)
	}
	if len(n.calls) == 1 {
		lines = lines[1:] // the tip begins with it
	}
	return strings.Join(lines, "\n")
}

// route draws an edge.
func (w *svg) route(p *picture, r route) {
	s := r.stroke()
	from, to := r.from.layout, r.to.layout
	x, y := from.x+from.w, from.y+r.from.out()
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.1f", x, y)
	curve := func(x2, y2 float64) {
		bend := (x2 - x) / 2
		fmt.Fprintf(&path, "C%.1f %.1f %.1f %.1f %.1f %.1f", x+bend, y, x2-bend, y2, x2, y2)
		x, y = x2, y2
	}
	for i, through := range r.through {
		c := from.column + 1 + i
		curve(p.xs[c], through.y+1)
		x = p.xs[c] + p.ws[c]
		fmt.Fprintf(&path, "L%.1f %.1f", x, y)
	}
	tip := to.x
	curve(tip-6, to.y+r.to.in(r.row))
	width := 1.3
	switch {
	case r.refused:
		width = 2.4
	case r.flow == granted:
		width = 1.8
	}
	dash := ""
	if s.dash != "" {
		dash = ` stroke-dasharray="` + s.dash + `"`
	}
	w.put(`<g><title>%s</title><path d="%s" fill="none" stroke="%s" stroke-width="%.1f"%s/>`, markup(r.from.head()+" to "+r.to.head()+": "+r.says()), path.String(), s.color, width, dash)
	if r.flow != order {
		w.put(`<path d="M%.1f %.1fl-7 -3.5v7z" fill="%s"/>`, tip, y, s.color)
	}
	if r.refused {
		cx := tip - 16
		w.put(`<circle cx="%.1f" cy="%.1f" r="7" fill="#ffffff" stroke="%s" stroke-width="1.6"/><path d="M%.1f %.1fl6 6m0 -6l-6 6" stroke="%s" stroke-width="2"/>`, cx, y, red, cx-3, y-3, red)
	}
	w.put(`</g>`)
}

// legend says what lines mean.
func (w *svg) legend(y float64) {
	x := float64(margin)
	word := func(s string) {
		w.put(`<text x="%.1f" y="%.1f" fill="%s">%s</text>`, x, y+4, middle, s)
		x += float64(len(s))*charWidth + 18
	}
	for _, t := range []label.Trust{label.Untrusted, label.Internal, label.User, label.System} {
		w.sample(&x, y, strokes[t])
		word(t.String())
	}
	w.sample(&x, y, grantedStroke)
	word("depends on an endorsement")
	w.put(`<circle cx="%.1f" cy="%.1f" r="7" fill="#ffffff" stroke="%s" stroke-width="1.6"/><path d="M%.1f %.1fl6 6m0 -6l-6 6" stroke="%s" stroke-width="2"/>`, x+7, y, red, x+4, y-3, red)
	x += 20
	word("refused")
}

func (w *svg) sample(x *float64, y float64, s stroke) {
	dash := ""
	if s.dash != "" {
		dash = ` stroke-dasharray="` + s.dash + `"`
	}
	w.put(`<path d="M%.1f %.1fh34" stroke="%s" stroke-width="2"%s/>`, *x, y, s.color, dash)
	*x += 40
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// markup is a text in XML. What cannot be seen, or would turn the reading, is written as an escape.
func markup(s string) string { return entities.Replace(console.Clean(s)) }

// fit is a text on one line, of so many columns.
func fit(s string, most int) string {
	s = console.Line(s)
	if columns(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += columnsOf(r); n >= most {
			return s[:i] + "…"
		}
	}
	return s
}

// columns is how wide a text is, in letters of a monospaced font, about.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) || r >= 0x1f000 {
		return 2
	}
	return 1
}
