package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"callgate/engine/label"
)

// Difference is one thing in which a run that was gone over again is not what was recorded.
type Difference struct {
	Seq   int64  `json:"seq"` // of the event that is recorded
	Type  Type   `json:"type"`
	Call  string `json:"call,omitempty"`
	Field string `json:"field,omitempty"` // path in the payload; "": it is another event

	// What was found, as JSON, or the types of the events.
	Recorded string `json:"recorded"`
	Got      string `json:"got"`

	Label label.Label `json:"-"` // of all that both events hold
}

// String says where the difference is, without data.
func (d Difference) String() string {
	at := fmt.Sprintf("event %d (%s", d.Seq, d.Type)
	if d.Call != "" {
		at += " of call " + d.Call
	}
	if d.Field == "" {
		return at + "): got " + d.Got
	}
	return at + "): " + d.Field + " is not what was recorded"
}

// DivergedError says that a run which was gone over again did something else than is recorded: agent, tools or language are not
// what they were, or the journal is not this run's. Nothing was stored.
type DivergedError struct {
	Run string
	Difference
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("journal: run %s cannot be gone on with: %s", e.Run, e.Difference)
}

// passing are the fields that may differ each time. Of the peak of memory a few bytes are garbage that was not yet seen to be.
var passing = map[Type][]string{
	CallResult: {"duration", "spent"},
	ProgramEnd: {"duration", "peak", "tier", "confinement"},
}

// compare returns the first difference between an event and a payload, or nil.
func compare(e Event, got json.RawMessage) *Difference {
	recorded, err := e.Plain()
	if err == nil && bytes.Equal(recorded, got) {
		return nil
	}
	var was, is map[string]any
	if err != nil || decodeNumbers(recorded, &was) != nil || decodeNumbers(got, &is) != nil {
		return &Difference{Seq: e.Seq, Type: e.Type, Call: e.Call, Field: ".", Recorded: string(recorded), Got: string(got), Label: label.Top()}
	}
	for _, name := range passing[e.Type] {
		delete(was, name)
		delete(is, name)
	}
	path, a, b, same := unlike("", was, is)
	if same {
		return nil
	}
	return &Difference{Seq: e.Seq, Type: e.Type, Call: e.Call, Field: path, Recorded: text(a), Got: text(b), Label: labels(was).Join(labels(is))}
}

// labels joins all labels in a payload.
func labels(v any) label.Label {
	out := label.Bottom()
	switch v := v.(type) {
	case map[string]any:
		_, trust := v["trust"]
		_, readers := v["readers"]
		if trust && readers {
			l := label.Top() // of what cannot be read
			if b, err := json.Marshal(v); err == nil && json.Unmarshal(b, &l) != nil {
				l = label.Top()
			}
			return l
		}
		for _, e := range v {
			out = out.Join(labels(e))
		}
	case []any:
		for _, e := range v {
			out = out.Join(labels(e))
		}
	}
	return out
}

func decodeNumbers(b []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(out)
}

// absent stands for a field that is not there.
type absent struct{}

func text(v any) string {
	if v == (absent{}) {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// unlike returns the path of the first place where two trees differ, and what is there. Two masks are alike: their keys differ.
func unlike(path string, a, b any) (string, any, any, bool) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return path, a, b, false
		}
		names := maps.Clone(x)
		maps.Copy(names, y)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			p, q := any(absent{}), any(absent{})
			if v, ok := x[name]; ok {
				p = v
			}
			if v, ok := y[name]; ok {
				q = v
			}
			if at, p, q, same := unlike(strings.TrimPrefix(path+"."+name, "."), p, q); !same {
				return at, p, q, false
			}
		}
		return "", nil, nil, true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return path, a, b, false
		}
		for i := range x {
			if at, p, q, same := unlike(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); !same {
				return at, p, q, false
			}
		}
		return "", nil, nil, true
	case string:
		if y, ok := b.(string); ok && strings.HasPrefix(x, maskPrefix) && strings.HasPrefix(y, maskPrefix) {
			return "", nil, nil, true
		}
	}
	return path, a, b, a == b
}
