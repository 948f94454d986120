package main

import (
	"slices"
	"strings"

	"callgate/builtins"
	"callgate/engine/eval"
)

// completions are what can be completed.
type completions struct {
	known []string // whole names: tools, what is bound, the language's
	tools *builtins.Set
}

// statements and operators are the language's own, as far as they are worth completing: those that stand in no expression, and those that do.
var (
	statements = []string{"break", "continue", "def", "elif", "except", "finally", "pass", "raise", "return", "try", "while"}
	operators  = []string{"and", "else", "for", "if", "in", "lambda", "not", "or"}
)

// names are those of the session now.
func (r *repl) names() completions {
	n := completions{tools: r.agent.Tools()}
	n.known = slices.Concat(eval.Universe(), statements, operators, r.run.Session().Names())
	for _, in := range r.agent.Spec.Inputs {
		n.known = append(n.known, in.Name)
	}
	n.known = append(n.known, n.tools.Names()...)
	return n
}

// complete returns where the word that is being typed at the end of a line begins, and what it may become, sorted.
func (n completions) complete(line string) (begin int, found []string) {
	begin = len(line)
	for begin > 0 && (isWord(line[begin-1]) || line[begin-1] == '.') {
		begin--
	}
	word := line[begin:]
	if rest := strings.TrimLeft(line[:begin], " \t"); rest == ":" {
		for _, c := range commands {
			found = append(found, c.name)
		}
		return begin, withPrefix(found, word)
	} else if strings.HasPrefix(rest, ":") { // what a command is about
		return begin, withPrefix(slices.Clone(n.known), word)
	}
	t := n.within(line[:begin])
	for _, name := range n.known {
		if !strings.HasPrefix(name, word) || t != nil && slices.Contains(statements, name) {
			continue
		}
		if dot := strings.IndexByte(name[len(word):], '.'); dot >= 0 && n.tools.Lookup(name) != nil {
			name = name[:len(word)+dot+1] // the group first
		} else if n.tools.Lookup(name) != nil {
			name += "("
		}
		found = append(found, name)
	}
	if t != nil && !strings.Contains(word, ".") {
		for _, p := range t.Params {
			found = append(found, p.Name+"=")
		}
	}
	return begin, withPrefix(found, word)
}

// within returns the tool whose arguments are being typed at the end of a line; nil if none.
func (n completions) within(line string) *builtins.Tool {
	depth := 0
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth < 0 {
				end := i
				for i > 0 && (isWord(line[i-1]) || line[i-1] == '.') {
					i--
				}
				return n.tools.Lookup(line[i:end])
			}
		}
	}
	return nil
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// withPrefix are those that begin so, sorted and once each.
func withPrefix(all []string, prefix string) []string {
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, prefix) })
	slices.Sort(all)
	return slices.Compact(all)
}
