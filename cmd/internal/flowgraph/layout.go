package flowgraph

import (
	"cmp"
	"slices"

	"callgate/engine/label"
)

// Sizes of the picture, in its units.
const (
	charWidth  = 6.6 // of a monospaced letter of 11 units
	lineHeight = 16
	padX, padY = 8, 6
	gapX, gapY = 76, 14
	margin     = 24
	mostChars  = 40 // of a line in a box
	fewChars   = 14
)

// box is where a node is, or where a long edge passes through a column.
type box struct {
	column     int
	x, y, w, h float64
	lines      []line
}

// line is a line of text in a box.
type line struct {
	text string
	row  int // -1: the head; -2: a note
	mark bool
}

// slot is something that takes a place in a column: a node, or an edge on its way through.
type slot struct {
	node *node // nil: of an edge
	y, h float64
	// Its neighbours in the columns before and after, and where edges leave it and come in, from its top.
	left, right []joint
	at          float64 // for ordering
	seq         int
}

type joint struct {
	other      *slot
	here, over float64
}

// route is an edge with the slots that it passes through.
type route struct {
	*edge
	through []*slot
}

// picture is a graph with places.
type picture struct {
	*Graph
	columns [][]*slot
	routes  []route
	w, h    float64
	xs, ws  []float64 // of columns
}

// lay gives every node a column by what flows into it, orders the columns so that few edges cross, and
// places the nodes near what they are joined to.
func (g *Graph) lay() *picture {
	p := &picture{Graph: g}
	p.assign()
	p.fill()
	p.arrange()
	p.place()
	return p
}

// assign gives columns: each node is to the right of all that flows into it and of its turn, and a turn of all that happened before.
func (p *picture) assign() {
	into := map[*node][]*node{}
	for _, e := range p.edges {
		into[e.to] = append(into[e.to], e.from)
	}
	last := 0
	sources := []*node{}
	for _, n := range p.nodes {
		if n.kind == source {
			sources = append(sources, n)
			continue
		}
		c := 0
		for _, f := range into[n] {
			if f.kind != source {
				c = max(c, f.layout.column+1)
			}
		}
		if n.during != nil {
			c = max(c, n.during.layout.column+1)
		}
		if n.kind == turn {
			c = max(c, last+1)
		}
		if n.kind == turn && !slices.ContainsFunc(p.nodes[:n.n], func(o *node) bool { return o.kind != source }) {
			c = 0
		}
		n.layout.column = c
		last = max(last, c)
	}
	for _, s := range sources { // beside what they flow into first
		c := last
		for _, e := range p.edges {
			if e.from == s {
				c = min(c, max(e.to.layout.column-1, 0))
			}
		}
		s.layout.column = c
	}
	for _, e := range p.edges { // what a source flows into is to the right of it
		if e.from.kind == source && e.from.layout.column >= e.to.layout.column {
			for _, n := range p.nodes {
				if n.kind != source {
					n.layout.column++
				}
			}
			break
		}
	}
}

// fill makes the boxes and the columns.
func (p *picture) fill() {
	columns := 0
	for _, n := range p.nodes {
		n.size()
		columns = max(columns, n.layout.column+1)
	}
	p.columns, p.ws, p.xs = make([][]*slot, columns), make([]float64, columns), make([]float64, columns)
	slots := map[*node]*slot{}
	put := func(c int, s *slot) *slot {
		s.seq = len(p.columns[c])
		p.columns[c] = append(p.columns[c], s)
		return s
	}
	for _, n := range p.nodes {
		slots[n] = put(n.layout.column, &slot{node: n, h: n.layout.h})
		p.ws[n.layout.column] = max(p.ws[n.layout.column], n.layout.w)
	}
	x := float64(margin)
	for c, w := range p.ws {
		p.xs[c] = x
		x += w + gapX
	}
	p.w = x - gapX + margin
	for _, n := range p.nodes {
		n.layout.x, n.layout.w = p.xs[n.layout.column], p.ws[n.layout.column]
	}
	type trunk struct {
		from, column int
		flow         flow
		trust        label.Trust
	}
	trunks := map[trunk]*slot{} // edges that look the same go together as far as they can
	for _, e := range p.edges {
		r := route{edge: e}
		before, here := slots[e.from], e.from.out()
		for c := e.from.layout.column + 1; c < e.to.layout.column; c++ {
			key := trunk{e.from.n, c, e.flow, e.trust}
			s := trunks[key]
			if s == nil {
				s = put(c, &slot{h: 2})
				trunks[key] = s
				before.right, s.left = append(before.right, joint{s, here, 1}), append(s.left, joint{before, 1, here})
			}
			r.through = append(r.through, s)
			before, here = s, 1
		}
		s, over := slots[e.to], e.to.in(e.row)
		before.right, s.left = append(before.right, joint{s, here, over}), append(s.left, joint{before, over, here})
		p.routes = append(p.routes, r)
	}
}

// sweeps is how often columns are looked at anew, in each direction.
const sweeps = 12

// arrange orders each column by the middle of what its slots are joined to, and keeps the order with the fewest crossings.
func (p *picture) arrange() {
	p.number()
	best, kept := p.crossings(), p.orders()
	for i := range sweeps {
		for c := range p.columns {
			rightward := i%2 == 0
			if !rightward {
				c = len(p.columns) - 1 - c
			}
			for _, s := range p.columns[c] {
				joints := s.left
				if !rightward {
					joints = s.right
				}
				if len(joints) == 0 {
					s.at = float64(s.seq)
					continue
				}
				s.at = 0
				for _, j := range joints {
					s.at += float64(j.other.seq) + j.over/1e4
				}
				s.at /= float64(len(joints))
			}
			slices.SortStableFunc(p.columns[c], func(a, b *slot) int { return cmp.Compare(a.at, b.at) })
			p.number()
		}
		if n := p.crossings(); n < best {
			best, kept = n, p.orders()
		}
	}
	p.columns = kept
	p.number()
}

func (p *picture) number() {
	for _, column := range p.columns {
		for i, s := range column {
			s.seq = i
		}
	}
}

func (p *picture) orders() (out [][]*slot) {
	for _, column := range p.columns {
		out = append(out, slices.Clone(column))
	}
	return out
}

// crossings counts how often edges cross between columns.
func (p *picture) crossings() int {
	n := 0
	for _, column := range p.columns {
		type end struct {
			over int
			at   float64
		}
		var ends []end
		for _, s := range column {
			joints := slices.Clone(s.right)
			slices.SortStableFunc(joints, func(a, b joint) int {
				return cmp.Or(cmp.Compare(a.here, b.here), cmp.Compare(a.other.seq, b.other.seq), cmp.Compare(a.over, b.over))
			})
			for _, j := range joints {
				for _, e := range ends {
					if e.over > j.other.seq || e.over == j.other.seq && e.at > j.over {
						n++
					}
				}
				ends = append(ends, end{j.other.seq, j.over})
			}
		}
	}
	return n
}

// place gives heights: each slot wants to be level with what it is joined to, and those of a column keep their order and distance.
func (p *picture) place() {
	for _, column := range p.columns {
		y := 0.0
		for _, s := range column {
			s.y = y
			y += s.h + gapY
		}
	}
	for i := range 2 * sweeps {
		for c := range p.columns {
			if i%2 == 1 {
				c = len(p.columns) - 1 - c
			}
			level(p.columns[c], i%2 == 0, i < sweeps)
		}
	}
	top := 0.0
	for _, column := range p.columns {
		for _, s := range column {
			top = min(top, s.y)
		}
	}
	for _, column := range p.columns {
		for _, s := range column {
			s.y += margin + headHeight - top
			if s.node != nil {
				s.node.layout.y = s.y
			}
			p.h = max(p.h, s.y+s.h+margin)
		}
	}
}

// level moves the slots of a column to where they want to be, as near as the others let them: where several want the same place, they
// share the distance.
func level(column []*slot, fromLeft, oneSided bool) {
	type block struct {
		sum, weight float64
		first, n    int
	}
	var blocks []block
	offset := make([]float64, len(column))
	y := 0.0
	for i, s := range column {
		offset[i] = y
		gap := float64(gapY)
		if i+1 < len(column) && s.node == nil && column[i+1].node == nil {
			gap = 6 // lines may be closer to each other than boxes
		}
		y += s.h + gap
		var wants []float64
		joints := s.left
		if !fromLeft {
			joints = s.right
		}
		if !oneSided {
			joints = append(slices.Clone(s.left), s.right...)
		}
		for _, j := range joints {
			wants = append(wants, j.other.y+j.over-j.here)
		}
		want, weight := s.y, 0.2
		if len(wants) > 0 {
			slices.Sort(wants)
			want, weight = (wants[(len(wants)-1)/2]+wants[len(wants)/2])/2, 1
			if s.node == nil {
				weight = 3 // a line that goes straight is easy to follow
			}
		}
		b := block{(want - offset[i]) * weight, weight, i, 1}
		for len(blocks) > 0 {
			l := blocks[len(blocks)-1]
			if l.sum/l.weight <= b.sum/b.weight {
				break
			}
			b = block{l.sum + b.sum, l.weight + b.weight, l.first, l.n + b.n}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		for i := b.first; i < b.first+b.n; i++ {
			column[i].y = b.sum/b.weight + offset[i]
		}
	}
}

// size makes the lines of a node, and its size.
func (n *node) size() {
	l := &n.layout
	l.lines = []line{{text: n.head(), row: -1}}
	for i, r := range n.rows {
		text := r.path
		if r.value != "" {
			if text != "" {
				text += " = "
			}
			text += r.value
		}
		l.lines = append(l.lines, line{text: text, row: i})
		if len(r.rules) > 0 {
			l.lines = append(l.lines, line{text: some(unique(r.rules), 2), row: -2, mark: true})
		}
	}
	for _, note := range n.notes {
		l.lines = append(l.lines, line{text: note, row: -2})
	}
	wide := fewChars
	for i := range l.lines {
		text := &l.lines[i].text
		most := mostChars
		if n.kind == turn {
			most = mostChars - 10
		}
		*text = fit(*text, most)
		w := columns(*text)
		if i == 0 {
			w += len(stateNames[n.state]) + 2
		}
		if l.lines[i].mark {
			w += 2
		}
		wide = max(wide, w)
	}
	l.w = float64(wide)*charWidth + 2*padX
	l.h = float64(len(l.lines))*lineHeight + 2*padY
}

// out is where edges leave a node, from its top.
func (n *node) out() float64 { return padY + lineHeight/2 }

// in is where edges come into a row, from the top of the node.
func (n *node) in(row int) float64 {
	for i, l := range n.layout.lines {
		if l.row == row {
			return padY + (float64(i)+0.5)*lineHeight
		}
	}
	return n.out()
}

// unique drops what is there already.
func unique(names []string) (out []string) {
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
