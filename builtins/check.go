package builtins

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/engine/label"
)

// The kinds of sink, as package policies defines them; "control" is no parameter's.
const (
	sinkNone      = "none"
	sinkRecipient = "recipient"
	sinkURL       = "url"
	sinkContent   = "content"
	sinkSecret    = "secret"
	sinkModel     = "model"
)

var sinkKinds = []string{sinkRecipient, "account", sinkURL, "path", "word", "query", sinkContent, sinkSecret, sinkModel, sinkNone}

func checkSink(kind string) error {
	if kind == "" || slices.Contains(sinkKinds, kind) {
		return nil
	}
	if best := nearest(kind, sinkKinds); best != "" {
		return fmt.Errorf("unknown sink %q; did you mean %q", kind, best)
	}
	return fmt.Errorf("unknown sink %q, want one of %s", kind, strings.Join(sinkKinds, ", "))
}

// sinkNames are the words in a parameter's name that suggest a kind of sink.
var sinkNames = map[string][]string{
	sinkRecipient: {"to", "cc", "bcc", "recipient", "recipients", "email", "emails", "mail", "address", "addresses", "attendee", "attendees", "participants", "invitees", "channel", "phone", "user"},
	"account":     {"iban", "account", "accounts", "bic", "wallet", "payee"},
	sinkURL:       {"url", "urls", "uri", "endpoint", "webhook", "href", "link", "host", "hostname", "callback"},
	"path":        {"path", "paths", "file", "filename", "filepath", "dir", "directory", "folder"},
	"word":        {"argv", "command", "cmd", "program", "executable", "shell"},
	"query":       {"sql", "statement", "query", "expression", "script"},
	sinkSecret:    {"token", "password", "passwd", "secret", "apikey", "authorization", "credential", "credentials"},
}

// Check returns what a person should look at before granting the tool, each a line that begins with its
// name: effects or labels that are not declared, and so are the strictest; parameters that look like
// a sink and declare none, where "none" is a declaration; effects without the sinks they need.
func (t *Tool) Check() []string {
	var out []string
	warn := func(format string, args ...any) {
		out = append(out, t.Name+": "+fmt.Sprintf(format, args...))
	}
	if t.Doc == "" {
		warn("no doc: a model must guess what it does")
	}
	if t.Effects == 0 {
		warn("effects are not declared, so all four are assumed")
	}
	if t.Label.Class.Equal(label.Top()) && t.Label.Structure == nil && len(t.Label.Fields) == 0 {
		warn("the label of its result is not declared, so it is untrusted and for nobody")
	}
	sinks := map[string]bool{}
	for _, p := range t.Params {
		sinks[p.Sink] = true
		for _, k := range p.Sinks {
			sinks[k] = true
		}
		if p.Sink != "" || len(p.Sinks) > 0 {
			continue
		}
		if kind := suspect(p.Name); kind != "" {
			warn("parameter %q looks like a sink and declares none; declare %q, or \"none\"", p.Name, kind)
		}
	}
	if t.Effects != 0 && t.Effects&Egress != 0 && !sinks[sinkContent] && !sinks[sinkModel] && !sinks[sinkURL] && !sinks[sinkRecipient] {
		warn("sends something out and no parameter is a sink of kind content, model, url or recipient")
	}
	if t.State != nil && t.State.Write && t.Effects != 0 && t.Effects&(Write|Destructive) == 0 {
		warn("writes to %q and has neither the effect write nor destructive", t.State.Name)
	}
	return out
}

// suspect returns the kind of sink that a parameter's name suggests, or "".
func suspect(name string) string {
	words := wordsOf(name)
	words = append(words, strings.Join(words, ""))
	for _, kind := range sortedKeys(sinkNames) {
		for _, w := range words {
			if slices.Contains(sinkNames[kind], w) {
				return kind
			}
		}
	}
	return ""
}

// wordsOf splits reply_to and replyTo into reply and to.
func wordsOf(name string) []string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return strings.ContainsRune(" _-.", r) })
}

// Assumptions returns what is taken for granted when the tool is granted, each a line
// that begins with its name: that its results, parts of them, or their structure are trusted
// at internal or above. They hold only if no attacker can write what the tool reads.
func (t *Tool) Assumptions() []string {
	if t.Asks != "" || t.Agent { // its result is as trustworthy as what it is made of
		return nil
	}
	var out []string
	assume := func(what string, l label.Label) {
		if l.Trust() >= label.Internal {
			out = append(out, fmt.Sprintf("%s: %s: assumed to be %s", t.Name, what, l))
		}
	}
	assume("result", t.Label.Class)
	for _, f := range t.Label.Fields {
		assume("result, "+f.Path, f.Class)
	}
	for _, c := range t.Label.Cases {
		assume("result, of "+c.When, c.Class)
	}
	if t.Label.Structure != nil {
		assume("length, order and keys of the result", *t.Label.Structure)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
