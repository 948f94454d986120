package label

import (
	"encoding/json"
	"fmt"
	"strings"
)

// String returns the label's class as people write it: trust, readers, and
// tags if any, such as "untrusted/public", "user/{ana,bob}" or
// "internal/{}#pii#secret". [Parse] reads it back.
func (l Label) String() string {
	var b strings.Builder
	b.WriteString(l.Trust().String())
	if l.Readers().IsPublic() {
		b.WriteString("/public")
	} else {
		b.WriteString("/{" + strings.Join(l.Readers().Names(), ",") + "}")
	}
	for _, t := range l.Tags() {
		b.WriteString("#" + t)
	}
	return b.String()
}

// Parse reads what [Label.String] writes. The readers may be left out: public.
func Parse(s string) (Label, error) {
	head, tags, _ := strings.Cut(s, "#")
	trust, readers, given := strings.Cut(head, "/")
	t, err := ParseTrust(trust)
	if err != nil {
		return Top(), fmt.Errorf("label %q: %w", s, err)
	}
	r := Public()
	if given && readers != "public" {
		names, ok := strings.CutPrefix(readers, "{")
		if names, ok = strings.CutSuffix(names, "}"); !ok {
			return Top(), fmt.Errorf("label %q: readers: got %q, want public or {name,…}", s, readers)
		}
		r = Readers{}
		if names != "" {
			r = Only(strings.Split(names, ",")...)
		}
	}
	var set []string
	if tags != "" {
		set = strings.Split(tags, "#")
	}
	return New(t, r, set), nil
}

type labelJSON struct {
	Trust   Trust    `json:"trust"`
	Readers []string `json:"readers"`
	Tags    []string `json:"tags"`
	Sources []Source `json:"sources"`
	Grants  []Grant  `json:"grants,omitempty"`
	More    bool     `json:"more"`
}

// MarshalJSON writes everything of the label, for wire and journal.
func (l Label) MarshalJSON() ([]byte, error) {
	return json.Marshal(labelJSON{l.Trust(), nonNil(l.Readers().Names()), nonNil(l.Tags()), nonNil(l.Sources()), l.Grants(), l.More()})
}

// UnmarshalJSON reads what [Label.MarshalJSON] writes. A field left out leaves
// its most restrictive value: an empty object is [Top] but for its sources and tags.
func (l *Label) UnmarshalJSON(b []byte) error {
	var j labelJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*l = New(j.Trust, Only(j.Readers...), j.Tags, j.Sources...)
	for _, g := range j.Grants {
		*l = l.WithGrant(g)
	}
	if j.More {
		o := *l.origin()
		o.more = true
		l.o = &o
	}
	return nil
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Explain returns the sources of a label in words, shortest first, at most n of them:
// "mail.read 04-urgent.eml (body)". A label without sources gives "".
func (l Label) Explain(n int) string {
	var parts []string
	for i, s := range l.Sources() {
		if i == n {
			parts = append(parts, "…")
			break
		}
		p := s.Tool
		if s.Of != "" {
			p += " " + s.Of
		}
		if s.Field != "" {
			p += " (" + s.Field + ")"
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 && l.More() {
		return "many sources"
	}
	return strings.Join(parts, ", ")
}
