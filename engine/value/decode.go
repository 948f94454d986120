package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/engine/label"
)

type encoded struct {
	Value  json.RawMessage `json:"value"`
	Labels []label.Label   `json:"labels"`
	Nodes  []int           `json:"nodes"`
}

// UnmarshalJSON reads what [Value.MarshalJSON] writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	*v = Value{}
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	out, err := DecodePlain(e.Value, label.Top())
	if err != nil {
		return err
	}
	d := relabeller{labels: e.Labels, nodes: e.Nodes, uniform: len(e.Labels) == 1 && len(e.Nodes) == 1}
	if d.node(&out); d.err == nil && !d.uniform && len(d.nodes) > 0 {
		d.err = errors.New("more labels than nodes")
	}
	if d.err != nil {
		return fmt.Errorf("value: %w", d.err)
	}
	*v = out
	return nil
}

// relabeller gives the nodes of a tree their labels, in the order of the encoding.
type relabeller struct {
	labels  []label.Label
	nodes   []int // what is left of them
	uniform bool  // one for all
	err     error
}

func (d *relabeller) next() label.Label {
	switch {
	case d.err != nil:
	case len(d.nodes) == 0:
		d.err = errors.New("fewer labels than nodes")
	case d.nodes[0] < 0 || d.nodes[0] >= len(d.labels):
		d.err = fmt.Errorf("got label %d of %d", d.nodes[0], len(d.labels))
	default:
		l := d.labels[d.nodes[0]]
		if !d.uniform {
			d.nodes = d.nodes[1:]
		}
		return l
	}
	return label.Top()
}

func (d *relabeller) node(v *Value) {
	v.Label = d.next()
	if v.Scalar() {
		return
	}
	v.Structure = d.next()
	for i := range v.Items {
		if v.Keys != nil {
			d.node(&v.Keys[i])
		}
		d.node(&v.Items[i])
	}
}

// DecodePlain reads the canonical encoding of data, and gives every node the label. JSON that is
// spaced or escaped otherwise is read as well; an object that means nothing here, such as {"$x": 1}, a key that is there
// twice, text that is no UTF-8, and what [Value.Check] refuses are errors. For JSON from elsewhere there is [FromJSON].
func DecodePlain(b []byte, l label.Label) (Value, error) { return decode(b, l, true) }

// FromJSON reads any JSON, and gives every node the label: objects are dicts, whatever their keys; a
// number without point and exponent is an int. The errors are those of [DecodePlain], and numbers out of range.
func FromJSON(b []byte, l label.Label) (Value, error) { return decode(b, l, false) }

func decode(b []byte, l label.Label, canonical bool) (Value, error) {
	p := parser{b: b, l: l, canonical: canonical}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.i < len(p.b) {
			err = p.unexpected("the end")
		}
	}
	if err != nil {
		return Value{}, fmt.Errorf("value: byte %d: %w", p.i, err)
	}
	return v, nil
}

// parser reads JSON from b at i. Its methods leave i behind what they read.
type parser struct {
	b         []byte
	i         int
	l         label.Label
	canonical bool // objects with one key that begins with $ are what they stand for
}

func (p *parser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

// peek returns the next byte that is no space; 0 at the end.
func (p *parser) peek() byte {
	if p.space(); p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

func (p *parser) unexpected(want string) error {
	if p.i >= len(p.b) {
		return fmt.Errorf("got the end, want %s", want)
	}
	r, n := utf8.DecodeRune(p.b[p.i:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Errorf("got byte %#02x, want %s", p.b[p.i], want)
	}
	return fmt.Errorf("got %q, want %s", r, want)
}

// expect reads one byte.
func (p *parser) expect(c byte) error {
	if p.peek() != c {
		return p.unexpected(strconv.QuoteRune(rune(c)))
	}
	p.i++
	return nil
}

func (p *parser) value(depth int) (Value, error) {
	switch c := p.peek(); {
	case c == '"':
		s, err := p.text()
		return StringOf(s, p.l), err
	case c == '{':
		return p.object(depth)
	case c == '[':
		v := ListOf(p.l)
		return v, p.items(&v, depth)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	switch {
	case p.word("null"):
		return NoneOf(p.l), nil
	case p.word("true"):
		return BoolOf(true, p.l), nil
	case p.word("false"):
		return BoolOf(false, p.l), nil
	}
	return Value{}, p.unexpected("a value")
}

// word reads a word if it is there.
func (p *parser) word(w string) bool {
	ok := bytes.HasPrefix(p.b[p.i:], []byte(w))
	if ok {
		p.i += len(w)
	}
	return ok
}

// sequence reads what stands between two brackets with commas between, each by f.
func (p *parser) sequence(begin, end byte, f func() error) error {
	if err := p.expect(begin); err != nil {
		return err
	}
	if p.peek() == end {
		p.i++
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.i++
		case end:
			p.i++
			return nil
		default:
			return p.unexpected("a comma or " + strconv.QuoteRune(rune(end)))
		}
	}
}

// items reads a list into the items of a container at a depth.
func (p *parser) items(v *Value, depth int) error {
	if depth >= MaxDepth {
		return errDeep
	}
	return p.sequence('[', ']', func() error {
		e, err := p.value(depth + 1)
		v.Items = append(v.Items, e)
		return err
	})
}

// pairs reads a list of pairs into the keys and items of a dict or struct at a depth.
func (p *parser) pairs(v *Value, depth int) error {
	if depth >= MaxDepth {
		return errDeep
	}
	return p.sequence('[', ']', func() error {
		if err := p.expect('['); err != nil {
			return err
		}
		k, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if v.Kind == Record && k.Kind != String || !k.hashable(depth+1) {
			return fmt.Errorf("got a key of type %s in a %s", k.Kind, v.Kind)
		}
		if err := p.expect(','); err != nil {
			return err
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.Keys, v.Items = append(v.Keys, k), append(v.Items, e)
		return p.expect(']')
	})
}

func (p *parser) object(depth int) (Value, error) {
	if depth > MaxDepth { // a special scalar may stand at MaxDepth
		return Value{}, errDeep
	}
	v := DictOf(p.l)
	special := false
	err := p.sequence('{', '}', func() error {
		if p.peek() != '"' {
			return p.unexpected("a key")
		}
		k, err := p.text()
		if err != nil {
			return err
		}
		if err := p.expect(':'); err != nil {
			return err
		}
		if p.canonical && strings.HasPrefix(k, "$") && len(v.Keys) == 0 && !special {
			special = true
			v, err = p.special(k, depth)
			return err
		}
		if special || p.canonical && strings.HasPrefix(k, "$") {
			return fmt.Errorf("got the key %q beside others: one with a $ stands alone", k)
		}
		if depth >= MaxDepth {
			return errDeep
		}
		e, err := p.value(depth + 1)
		v.Keys, v.Items = append(v.Keys, StringOf(k, p.l)), append(v.Items, e)
		return err
	})
	switch {
	case err != nil:
		return Value{}, err
	case depth == MaxDepth && !v.Scalar():
		return Value{}, errDeep
	}
	keys := v.Keys
	if v.Kind == Set {
		keys = v.Items
		for i := range keys {
			if !keys[i].hashable(depth + 1) {
				return Value{}, fmt.Errorf("got a key of type %s in a set", keys[i].Kind)
			}
		}
	}
	if i := duplicate(keys); i >= 0 {
		return Value{}, fmt.Errorf("got the key %s twice", keys[i].brief())
	}
	return v, nil
}

// special reads what stands behind a key that begins with $, and makes the value that it is the form of.
func (p *parser) special(name string, depth int) (Value, error) {
	v := Value{Label: p.l, Structure: p.l}
	switch name {
	case "$tuple", "$set":
		v.Kind = Tuple
		if name == "$set" {
			v.Kind = Set
		}
		return v, p.items(&v, depth)
	case "$dict", "$struct":
		v.Kind = Dict
		if name == "$struct" {
			v.Kind = Record
		}
		return v, p.pairs(&v, depth)
	case "$bytes", "$string", "$float":
		if p.peek() != '"' {
			return Value{}, p.unexpected("a string in " + name)
		}
		s, err := p.text()
		if err != nil {
			return Value{}, err
		}
		if name == "$float" {
			f, ok := map[string]float64{"nan": math.NaN(), "+inf": math.Inf(1), "-inf": math.Inf(-1)}[s]
			if !ok {
				return Value{}, fmt.Errorf("got %q in $float, want nan, +inf or -inf", s)
			}
			return FloatOf(f, p.l), nil
		}
		raw, err := base64.StdEncoding.Strict().DecodeString(s)
		if err != nil || strings.ContainsAny(s, "\r\n") { // base64 skips the ends of lines
			return Value{}, fmt.Errorf("%s: got %.40q, want base64", name, s)
		}
		if name == "$string" {
			return StringOf(string(raw), p.l), nil
		}
		return Value{Kind: Bytes, Str: string(raw), Label: p.l}, nil
	}
	return Value{}, fmt.Errorf("got an object with the key %q, which means nothing", name)
}

// number reads a JSON number: an int if it has no point and no exponent.
func (p *parser) number() (Value, error) {
	from, float := p.i, false
	digits := func() bool {
		n := p.i
		for p.i < len(p.b) && '0' <= p.b[p.i] && p.b[p.i] <= '9' {
			p.i++
		}
		return p.i > n
	}
	next := func(set string) bool {
		if p.i < len(p.b) && strings.IndexByte(set, p.b[p.i]) >= 0 {
			p.i++
			return true
		}
		return false
	}
	next("-")
	if !next("0") && !digits() {
		return Value{}, p.unexpected("a digit")
	}
	if next(".") {
		if float = true; !digits() {
			return Value{}, p.unexpected("a digit")
		}
	}
	if next("eE") {
		next("+-")
		if float = true; !digits() {
			return Value{}, p.unexpected("a digit")
		}
	}
	s := string(p.b[from:p.i])
	if float {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Value{}, fmt.Errorf("got a number that is out of range: %.40s", s)
		}
		return FloatOf(f, p.l), nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return IntOf(i, p.l), nil
	}
	const most = MaxIntBits/3 + 2 // more digits than this are more bits
	if len(s) > most {
		return Value{}, fmt.Errorf("got an int of %d digits, want at most %d bits", len(s), MaxIntBits)
	}
	i, ok := new(big.Int).SetString(s, 10)
	if !ok || i.BitLen() > MaxIntBits {
		return Value{}, fmt.Errorf("got an int of %d digits, want at most %d bits", len(s), MaxIntBits)
	}
	return Value{Kind: Int, Int: i, Label: p.l}, nil
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.i++
	from := p.i
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c == '"':
			s := p.b[from:p.i]
			if !utf8.Valid(s) {
				return "", errors.New("got text that is no UTF-8")
			}
			p.i++
			return string(s), nil
		case c == '\\':
			return p.escaped(from)
		case c < ' ':
			return "", p.unexpected("an escape")
		}
		p.i++
	}
	return "", p.unexpected(`'"'`)
}

// escaped reads the rest of a string that began at from and has an escape at i.
func (p *parser) escaped(from int) (string, error) {
	out := append([]byte(nil), p.b[from:p.i]...)
	for p.i < len(p.b) {
		c := p.b[p.i]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", errors.New("got text that is no UTF-8")
			}
			p.i++
			return string(out), nil
		case c < ' ':
			return "", p.unexpected("an escape")
		case c != '\\':
			out = append(out, c)
			p.i++
			continue
		}
		p.i++
		if p.i == len(p.b) {
			break
		}
		if p.b[p.i] == 'u' {
			r, err := p.unicode()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, p.b[p.i])
		if at < 0 {
			return "", p.unexpected(`one of "\/bfnrtu`)
		}
		out = append(out, "\"\\/\b\f\n\r\t"[at])
		p.i++
	}
	return "", p.unexpected(`'"'`)
}

// unicode reads the rest of one \u escape, or of two that are a pair. Half a pair has no
// text: from elsewhere it is taken for U+FFFD.
func (p *parser) unicode() (rune, error) {
	r, err := p.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.i+1 < len(p.b) && p.b[p.i] == '\\' && p.b[p.i+1] == 'u' {
		back := p.i
		p.i++
		low, err := p.hex()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
		p.i = back
	}
	if p.canonical {
		return 0, errors.New("got half of a surrogate pair")
	}
	return utf8.RuneError, nil
}

// hex reads u and four hex digits.
func (p *parser) hex() (rune, error) {
	end := p.i + 5
	if end > len(p.b) {
		p.i = len(p.b)
		return 0, p.unexpected("four hex digits")
	}
	n, err := strconv.ParseUint(string(p.b[p.i+1:end]), 16, 16)
	if err != nil {
		return 0, p.unexpected("four hex digits")
	}
	p.i = end
	return rune(n), nil
}
