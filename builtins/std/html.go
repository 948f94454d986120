package std

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText returns what a reader of a page sees, roughly: its text, a line for each
// block, a tab between cells. Scripts, styles and comments are left out. It does not know what a style hides.
func htmlText(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b textLines
	hidden := atom.Atom(0) // the element within which nothing is seen
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			if hidden == 0 {
				b.text(string(z.Text()))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case hidden != 0:
			case unseen[tag]:
				hidden = tag
			case tag == atom.Td || tag == atom.Th:
				b.cell()
			case tag == atom.Li:
				b.newline()
				b.text("- ")
			case blocks[tag]:
				b.newline()
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case tag == hidden:
				hidden = 0
			case hidden == 0 && blocks[tag]:
				b.newline()
			}
		}
	}
}

var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Title: true, atom.Template: true, atom.Noscript: true,
}

var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Br: true, atom.Tr: true, atom.Table: true, atom.Ul: true, atom.Ol: true, atom.Li: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Blockquote: true, atom.Pre: true, atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true, atom.Hr: true,
	atom.Dl: true, atom.Dt: true, atom.Dd: true, atom.Body: true, atom.Head: true,
}

// textLines collects text with single spaces, and without empty lines in a row.
type textLines struct {
	strings.Builder
	pending string // what separates the next text from what is there
}

func (b *textLines) text(s string) {
	words := strings.Fields(s)
	for i, w := range words {
		if i > 0 || strings.TrimLeft(s, " \t\r\n\f\u00a0") != s {
			b.space()
		}
		b.put(w)
	}
	if len(words) == 0 && s != "" || len(words) > 0 && strings.TrimRight(s, " \t\r\n\f\u00a0") != s {
		b.space()
	}
}

func (b *textLines) put(s string) {
	if b.Len() > 0 {
		b.WriteString(b.pending)
	}
	b.pending = ""
	b.WriteString(s)
}

func (b *textLines) space() {
	if b.pending == "" {
		b.pending = " "
	}
}

func (b *textLines) cell() {
	if b.pending != "\n" {
		b.pending = "\t"
	}
}

func (b *textLines) newline() { b.pending = "\n" }
