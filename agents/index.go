package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"callgate/builtins"
	"callgate/builtins/std"
	"callgate/engine/label"
	"callgate/spec"
)

const (
	searchTool = "tools.search"

	maxShown  = 30 // tools whose signatures are in the prompt; of more it has an index
	maxNamed  = 12 // of a group, in the index
	maxFound  = 8  // answers of one search
	maxDocs   = 60 // words of a doc that are searched
	docWeight = 1  // by where a word of the query is found
	argWeight = 2
	sumWeight = 3 // in the first line of the doc
	inName    = 6
	isName    = 12 // one of the name's own words
)

// index is how a model finds tools of which there are too many to tell it all.
type index struct {
	tools  []*builtins.Tool // by name
	groups map[string]string
	words  label.Label // who wrote what a search can answer
}

// indexTools grants the search for tools where the prompt does not show them all. In mode plan the model is shown no results, and so it is
// told everything.
func (a *Agent) indexTools() error {
	all := a.tools.All()
	if a.Spec.Model == nil || a.Spec.Mode == "plan" || len(all) <= maxShown || a.tools.Lookup(searchTool) != nil {
		return nil
	}
	a.index = &index{tools: all, groups: map[string]string{}, words: a.own()}
	for _, t := range all {
		if t.Words != nil {
			a.index.words = a.index.words.Join(*t.Words)
		}
		group, _, _ := strings.Cut(t.Name, ".")
		own := slices.ContainsFunc(a.opts.Tools, func(o *builtins.Tool) bool { return o.Name == t.Name })
		if f := std.Lookup(group); f != nil && !own {
			a.index.groups[group], _, _ = strings.Cut(f.Doc, ". ")
		}
	}
	return a.tools.Add(a.index.tool())
}

// tool is the search, as a tool: its answers are as trustworthy as what the tools say of themselves.
func (x *index) tool() *builtins.Tool {
	return &builtins.Tool{
		Name: searchTool,
		Doc:  "Find tools by words of what they do: a text with their signatures, to be printed. With the name of a tool: all that is said of it.",
		Params: []builtins.Param{
			{Name: "query", Schema: json.RawMessage(`{"type": "string", "minLength": 1, "maxLength": 200}`), Required: true, Sink: "none"},
		},
		Returns: json.RawMessage(`{"type": "string"}`),
		Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: x.words.WithoutSources(), Of: "declarations"},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			return x.search(builtins.Arg[string](in, "query")), nil
		},
	}
}

// search answers a query. The same query over the same tools has the same answer.
func (x *index) search(query string) string {
	var names []string
	for _, t := range x.tools {
		if t.Name == query {
			return help(t)
		}
		names = append(names, t.Name)
	}
	type hit struct {
		tool  *builtins.Tool
		score int
	}
	var hits []hit
	words := wordsIn(query)
	for _, t := range x.tools {
		if s := score(t, words); s > 0 {
			hits = append(hits, hit{t, s})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.tool.Name, b.tool.Name))
	})
	if len(hits) == 0 {
		if near := spec.Nearest(query, names); near != "" {
			return fmt.Sprintf("No tool is found by %q. Is it %s?\n", query, near)
		}
		return fmt.Sprintf("No tool is found by %q: try other words for what it should do.\n", query)
	}
	var b strings.Builder
	known := shapes{}
	for _, h := range hits[:min(len(hits), maxFound)] {
		b.WriteString(known.signature(h.tool) + "\n")
	}
	if n := len(hits) - maxFound; n > 0 {
		fmt.Fprintf(&b, "… and %d more: add a word\n", n)
	}
	return b.String()
}

// score is how well a tool answers the words of a query: for each of them the best place where it stands.
func score(t *builtins.Tool, query []string) int {
	name, first := wordsIn(t.Name), ""
	rest := t.Doc
	first, rest, _ = strings.Cut(rest, "\n")
	var params, docs []string
	for _, p := range t.Params {
		params = append(params, wordsIn(p.Name)...)
		rest += " " + p.Doc
	}
	sum := wordsIn(first)
	if docs = wordsIn(rest); len(docs) > maxDocs {
		docs = docs[:maxDocs]
	}
	total := 0
	for _, w := range query {
		switch {
		case slices.Contains(name, w):
			total += isName
		case slices.ContainsFunc(name, func(n string) bool { return alike(n, w) }):
			total += inName
		case slices.ContainsFunc(sum, func(s string) bool { return alike(s, w) }):
			total += sumWeight
		case slices.ContainsFunc(params, func(s string) bool { return alike(s, w) }):
			total += argWeight
		case slices.ContainsFunc(docs, func(s string) bool { return alike(s, w) }):
			total += docWeight
		}
	}
	return total
}

// alike reports whether one word begins with the other: mail and mails, send and sending. Words of less than three letters are alike if they are the same.
func alike(a, b string) bool {
	if min(len(a), len(b)) < 3 {
		return a == b
	}
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// wordsIn splits a text into words in lower case, without those that every doc has.
func wordsIn(text string) []string {
	out := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(out, func(w string) bool {
		return slices.Contains([]string{"a", "an", "the", "of", "to", "in", "is", "it", "and", "or", "for", "with", "by"}, w)
	})
}

// help is all that a tool says of itself.
func help(t *builtins.Tool) string {
	var b strings.Builder
	b.WriteString(shapes{}.call(t) + "\n")
	if t.Doc != "" {
		b.WriteString(t.Doc + "\n")
	}
	for _, p := range t.Params {
		if p.Doc != "" {
			fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Doc)
		}
	}
	return b.String()
}

// prompt is what the model is told of the tools: groups, how many are in each, and what they are called.
func (x *index) prompt() string {
	members := map[string][]string{}
	var order []string
	for _, t := range x.tools {
		if !plainName(t.Name) {
			continue
		}
		group, rest, ok := strings.Cut(t.Name, ".")
		if !ok {
			rest = ""
		}
		if members[group] == nil {
			order = append(order, group)
		}
		members[group] = append(members[group], rest)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nThere are %d tools, by group. print(%s(\"words of what it should do\")) shows you signatures, print(%s(\"NAME\")) all of one tool:\n", len(x.tools), searchTool, searchTool)
	for _, g := range order {
		list := slices.DeleteFunc(members[g], func(s string) bool { return s == "" })
		fmt.Fprintf(&b, "%s (%d)", g, max(len(list), 1))
		if about := x.groups[g]; about != "" {
			b.WriteString(" # " + about)
		}
		if len(list) > 0 {
			b.WriteString(": " + strings.Join(list[:min(len(list), maxNamed)], ", "))
		}
		if len(list) > maxNamed {
			b.WriteString(", …")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// plainName reports whether a name says no more than names do: those of a stranger's tools are shown unasked.
func plainName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == ""
}
