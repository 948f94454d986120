package std

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlMarkdown returns a page as markdown, roughly: headings, lists, links, emphasis, code, quotes, and rows of tables. What a reader
// would not see is left out, as [htmlText] does. It reads the page once, and is never longer than a few times the page.
func htmlMarkdown(page string) string {
	m := &markdown{z: html.NewTokenizer(strings.NewReader(page))}
	for {
		switch m.z.Next() {
		case html.ErrorToken:
			m.closeLinks()
			return strings.TrimSpace(m.out.String())
		case html.TextToken:
			m.text(string(m.z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			m.open()
		case html.EndTagToken:
			name, _ := m.z.TagName()
			m.close(atom.Lookup(name))
		}
	}
}

type markdown struct {
	z      *html.Tokenizer
	out    strings.Builder
	breaks int       // lines that end before the next text: 1 begins a line, 2 a paragraph
	space  bool      // a space comes before the next text
	before string    // what begins the next line: "# ", "- "
	hidden atom.Atom // the element within which nothing is seen
	pre    bool      // text is kept as it is
	lists  []int     // for each open list the number of its next item, 0 for one without numbers
	quotes int       // open ones
	low    int       // the fewest since the last text
	cells  int       // of the row
	links  []string  // targets of open links
}

const (
	maxLists  = 8
	maxTarget = 500 // bytes of a link's target that are kept
)

func (m *markdown) open() {
	name, more := m.z.TagName()
	tag := atom.Lookup(name)
	switch {
	case m.hidden != 0:
		return
	case unseen[tag]:
		m.hidden = tag
		return
	}
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		m.line(2)
		m.before = strings.Repeat("#", int(name[1]-'0')) + " "
	case atom.Ul, atom.Ol:
		m.line(1)
		first := 0
		if tag == atom.Ol {
			first = 1
		}
		m.lists = append(m.lists, first)
	case atom.Li:
		m.line(1)
		m.before = "- "
		if n := len(m.lists) - 1; n >= 0 {
			if m.lists[n] > 0 {
				m.before = strconv.Itoa(m.lists[n]) + ". "
				m.lists[n]++
			}
			m.before = strings.Repeat("  ", min(n, maxLists)) + m.before
		}
	case atom.Br:
		m.line(1)
	case atom.Hr:
		m.line(2)
		m.put("---")
		m.line(2)
	case atom.Pre:
		m.line(2)
		m.put("```")
		m.line(1)
		m.pre = true
	case atom.Code:
		m.mark("`")
	case atom.Strong, atom.B:
		m.mark("**")
	case atom.Em, atom.I:
		m.mark("*")
	case atom.Blockquote:
		m.line(2)
		m.quotes = min(m.quotes+1, maxLists)
	case atom.Tr:
		m.line(1)
		m.cells = 0
	case atom.Td, atom.Th:
		if m.cells > 0 {
			m.put(" |")
			m.space = true
		}
		m.cells++
	case atom.Img:
		if alt := m.attribute(more, "alt"); alt != "" {
			m.text(" " + alt + " ")
		}
	case atom.A:
		target := m.attribute(more, "href")
		if len(target) > maxTarget || strings.ContainsAny(target, " \t\r\n()<>") || strings.HasPrefix(strings.ToLower(target), "javascript:") {
			target = ""
		}
		m.links = append(m.links, target)
		if target != "" {
			m.flush()
			m.out.WriteString("[")
		}
	default:
		if blocks[tag] {
			m.line(m.gap(tag))
		}
	}
}

// gap is how far apart a block is from what is around it.
func (m *markdown) gap(tag atom.Atom) int {
	if tag == atom.P || tag == atom.Table {
		return 2
	}
	return 1
}

func (m *markdown) close(tag atom.Atom) {
	switch {
	case tag == m.hidden:
		m.hidden = 0
		return
	case m.hidden != 0:
		return
	}
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		m.before = ""
		m.line(2)
	case atom.Ul, atom.Ol:
		if n := len(m.lists); n > 0 {
			m.lists = m.lists[:n-1]
		}
		m.line(1)
		if len(m.lists) == 0 {
			m.line(2)
		}
	case atom.Li:
		m.line(1)
	case atom.Pre:
		if m.pre {
			m.pre = false
			m.line(1)
			m.put("```")
		}
		m.line(2)
	case atom.Code:
		m.markEnd("`")
	case atom.Strong, atom.B:
		m.markEnd("**")
	case atom.Em, atom.I:
		m.markEnd("*")
	case atom.Blockquote:
		m.quotes = max(m.quotes-1, 0)
		m.low = min(m.low, m.quotes)
		m.line(2)
	case atom.A:
		if n := len(m.links); n > 0 {
			m.closeLink()
		}
	default:
		if blocks[tag] {
			m.line(m.gap(tag))
		}
	}
}

func (m *markdown) closeLinks() {
	for len(m.links) > 0 {
		m.closeLink()
	}
	if m.pre {
		m.line(1)
		m.put("```")
	}
}

func (m *markdown) closeLink() {
	n := len(m.links) - 1
	if target := m.links[n]; target != "" {
		m.out.WriteString("](" + target + ")")
	}
	m.links = m.links[:n]
}

// attribute returns one attribute of the tag that was read.
func (m *markdown) attribute(more bool, want string) string {
	out := ""
	for more {
		var k, v []byte
		k, v, more = m.z.TagAttr()
		if string(k) == want && out == "" {
			out = strings.TrimSpace(string(v))
		}
	}
	return out
}

// line ends the line, or the paragraph, before the next text.
func (m *markdown) line(breaks int) {
	m.breaks, m.space = max(m.breaks, breaks), false
}

// flush writes what comes before a text.
func (m *markdown) flush() {
	if m.breaks > 0 {
		if m.out.Len() > 0 {
			m.out.WriteString("\n")
			if m.breaks > 1 {
				m.out.WriteString(strings.TrimRight(strings.Repeat("> ", m.low), " ") + "\n")
			}
		}
		m.breaks, m.space = 0, false
		m.begin()
	} else if m.out.Len() == 0 {
		m.begin()
	}
	if m.space {
		m.out.WriteByte(' ')
		m.space = false
	}
}

// begin writes what a line begins with.
func (m *markdown) begin() {
	m.out.WriteString(strings.Repeat("> ", m.quotes) + m.before)
	m.before, m.low = "", m.quotes
}

func (m *markdown) put(s string) {
	m.flush()
	m.out.WriteString(s)
}

func (m *markdown) mark(s string) {
	if !m.pre {
		m.put(s)
	}
}

// markEnd writes a mark right after the text before it.
func (m *markdown) markEnd(s string) {
	if !m.pre {
		m.out.WriteString(s)
	}
}

func (m *markdown) text(s string) {
	if m.hidden != 0 {
		return
	}
	if m.pre {
		for i, l := range strings.Split(s, "\n") {
			if i > 0 {
				m.breaks = min(m.breaks+1, 2)
			}
			if l != "" {
				m.put(l)
			}
		}
		return
	}
	words := strings.Fields(s)
	for i, w := range words {
		if i > 0 || strings.TrimLeft(s, " \t\r\n\f\u00a0") != s {
			m.gapBefore()
		}
		m.put(w)
	}
	if len(words) == 0 && s != "" || len(words) > 0 && strings.TrimRight(s, " \t\r\n\f\u00a0") != s {
		m.gapBefore()
	}
}

// gapBefore puts a space before the next text, unless a line begins there.
func (m *markdown) gapBefore() {
	if m.breaks == 0 && m.out.Len() > 0 {
		m.space = true
	}
}
