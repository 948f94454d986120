package gate

import (
	"fmt"
	"strconv"
	"strings"

	"callgate/engine/value"
)

// The roots of the paths that obligations name.
const (
	rootArgs   = "args"   // then the name of a parameter
	rootResult = "result" // what the tool returned
)

// path is a JSON pointer of an obligation: "/result/email", "/args/body", "/result/*/iban".
// A segment "*" stands for every element of a list and every entry of a dict.
type path []string

// parsePath reads a pointer that begins with /args/NAME or /result.
func parsePath(s string) (path, error) {
	rest, ok := strings.CutPrefix(s, "/")
	if !ok {
		return nil, fmt.Errorf("path: got %q, want /result… or /args/NAME…", s)
	}
	p := path(strings.Split(rest, "/"))
	for i, segment := range p {
		p[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	}
	if p[0] == rootResult || p[0] == rootArgs && len(p) > 1 && p[1] != "" {
		return p, nil
	}
	return nil, fmt.Errorf("path: got %q, want /result… or /args/NAME…", s)
}

// edit returns a copy of v in which f has replaced what the segments lead to. What is
// not there is left out: a rule about a field holds for results without it.
func edit(v value.Value, segments []string, f func(value.Value) value.Value) value.Value {
	if len(segments) == 0 {
		return f(v)
	}
	head, rest := segments[0], segments[1:]
	items := v.Items
	for i := range items {
		if !leadsTo(v, i, head) {
			continue
		}
		if &items[0] == &v.Items[0] {
			items = append([]value.Value(nil), v.Items...)
		}
		items[i] = edit(items[i], rest, f)
	}
	v.Items = items
	return v
}

func leadsTo(v value.Value, i int, segment string) bool {
	if segment == "*" {
		return true
	}
	if v.Kind == value.Dict || v.Kind == value.Record {
		k := v.Keys[i]
		return k.Kind == value.String && k.Str == segment || k.Kind != value.String && k.Text() == segment
	}
	return strconv.Itoa(i) == segment
}
