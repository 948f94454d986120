package value

import (
	"math"
	"strconv"
)

// Text returns the value as a program would print its repr: strings quoted, no
// labels. What is nested deeper than [MaxDepth] is "...".
func (v Value) Text() string { return string(v.appendText(nil, 0)) }

func (v *Value) appendText(b []byte, depth int) []byte {
	if v.malformed() != "" {
		return append(b, "<invalid>"...)
	}
	switch v.Kind {
	case None:
		return append(b, "None"...)
	case Bool:
		if v.Bool {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case Int:
		return v.Int.Append(b, 10)
	case Float:
		switch {
		case math.IsNaN(v.Float):
			return append(b, "nan"...)
		case math.IsInf(v.Float, 0):
			return append(b, infinity(v.Float)...)
		}
		return appendFloat(b, v.Float)
	case String:
		return strconv.AppendQuote(b, v.Str)
	case Bytes:
		return strconv.AppendQuote(append(b, 'b'), v.Str)
	}
	if depth >= MaxDepth {
		return append(b, "..."...)
	}
	begin, end := "[", "]"
	switch v.Kind {
	case Tuple:
		begin, end = "(", ")"
		if len(v.Items) == 1 {
			end = ",)"
		}
	case Dict:
		begin, end = "{", "}"
	case Set:
		begin, end = "set([", "])"
	case Record:
		begin, end = "struct(", ")"
	}
	b = append(b, begin...)
	for i := range v.Items {
		if i > 0 {
			b = append(b, ", "...)
		}
		switch v.Kind {
		case Dict:
			b = append(v.Keys[i].appendText(b, depth+1), ": "...)
		case Record:
			b = append(append(b, v.Keys[i].Str...), " = "...)
		}
		b = v.Items[i].appendText(b, depth+1)
	}
	return append(b, end...)
}
