package value

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
)

var (
	ana    = label.New(label.User, label.Only("ana"), nil, label.Source{Tool: "prompt"})
	mailed = label.New(label.Untrusted, label.Public(), []string{"pii"}, label.Source{Tool: "mail.read", Of: "04.eml", Field: "body"})
	mixed  = []label.Label{label.Bottom(), label.Top(), ana, mailed, ana.Join(mailed)}
)

// random returns a value that may cross, with labels of a mix at every node.
func random(r *rand.Rand, depth int) Value {
	v := Value{Kind: Kind(1 + r.IntN(int(Record))), Label: mixed[r.IntN(len(mixed))]}
	if depth == 0 && !v.Scalar() {
		v.Kind = Kind(1 + r.IntN(int(Bytes)))
	}
	return fill(r, v, depth)
}

func fill(r *rand.Rand, v Value, depth int) Value {
	ints := []string{"0", "1", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "123456789012345678901234567890"}
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, 1e21, 1e-7, 5e-324, math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1), 0.1}
	strs := []string{"", "a", "$", "$bytes", "a b", "<&>", "\u2028", "é", "日本", "\x00", "\xff", "a\xffb", "\"\\\n", "\ufffd", "😀", "a.b", "a#key"}
	switch v.Kind {
	case Bool:
		v.Bool = r.IntN(2) == 0
	case Int:
		v.Int, _ = new(big.Int).SetString(ints[r.IntN(len(ints))], 10)
	case Float:
		v.Float = floats[r.IntN(len(floats))]
	case String, Bytes:
		v.Str = strs[r.IntN(len(strs))]
	}
	if v.Scalar() {
		return v
	}
	v.Structure = mixed[r.IntN(len(mixed))]
	for range r.IntN(5) {
		switch v.Kind {
		case List, Tuple:
			v.Items = append(v.Items, random(r, depth-1))
			continue
		case Set:
			k := randomKey(r, depth-1)
			if duplicate(append(slices.Clip(v.Items), k)) < 0 {
				v.Items = append(v.Items, k)
			}
			continue
		}
		k := randomKey(r, depth-1)
		if v.Kind == Record || r.IntN(3) > 0 {
			k = fill(r, Value{Kind: String, Label: k.Label}, 0)
		}
		if duplicate(append(slices.Clip(v.Keys), k)) < 0 {
			v.Keys, v.Items = append(v.Keys, k), append(v.Items, random(r, depth-1))
		}
	}
	return v
}

// randomKey returns a scalar, or a tuple or struct of such.
func randomKey(r *rand.Rand, depth int) Value {
	if depth > 0 && r.IntN(4) == 0 {
		v := Value{Kind: []Kind{Tuple, Record}[r.IntN(2)], Label: mixed[r.IntN(len(mixed))], Structure: mixed[r.IntN(len(mixed))]}
		for i := range r.IntN(3) {
			v.Items = append(v.Items, randomKey(r, depth-1))
			if v.Kind == Record {
				v.Keys = append(v.Keys, StringOf(fmt.Sprint("f", i), mixed[r.IntN(len(mixed))]))
			}
		}
		return v
	}
	return random(r, 0)
}

// same reports whether two values have the same data and, if labelled, the same labels. It is written apart
// from the encoding that it checks.
func same(a, b Value, labelled bool) bool {
	if a.Kind != b.Kind || len(a.Keys) != len(b.Keys) || len(a.Items) != len(b.Items) {
		return false
	}
	if labelled && (!a.Label.Equal(b.Label) || !a.Scalar() && !a.Structure.Equal(b.Structure)) {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.Bool == b.Bool
	case Int:
		return a.Int.Cmp(b.Int) == 0
	case Float:
		if math.IsNaN(a.Float) {
			return math.IsNaN(b.Float)
		}
		return math.Float64bits(a.Float) == math.Float64bits(b.Float)
	case String, Bytes:
		return a.Str == b.Str
	}
	for i := range a.Keys {
		if !same(a.Keys[i], b.Keys[i], labelled) {
			return false
		}
	}
	for i := range a.Items {
		if !same(a.Items[i], b.Items[i], labelled) {
			return false
		}
	}
	return true
}

func TestEncodingRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[Kind]int{}
	for range 6000 {
		v := random(r, 4)
		for n := range v.nodes {
			kinds[n.Kind]++
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", v.Text(), err)
		}
		var got Value
		if err := json.Unmarshal(b, &got); err != nil || !same(v, got, true) {
			t.Fatalf("got %s, %v from %s; want %s with its labels", got.Text(), err, b, v.Text())
		}
		if again, err := json.Marshal(got); err != nil || string(again) != string(b) {
			t.Fatalf("encoded again: got %s, %v; want %s", again, err, b)
		}
		plain := v.AppendPlain(nil)
		if !json.Valid(plain) {
			t.Fatalf("no JSON: %s", plain)
		}
		got, err = DecodePlain(plain, ana)
		if err != nil || !same(v, got, false) {
			t.Fatalf("got %s, %v from %s; want %s", got.Text(), err, plain, v.Text())
		}
		if got.Deep().String() != ana.String() {
			t.Fatalf("DecodePlain labelled %s with %v, want %v", got.Text(), got.Deep(), ana)
		}
		if v.LabelledDigest() == got.LabelledDigest() && !same(v, got, true) {
			t.Fatalf("%s has one labelled digest under two labels", v.Text())
		}
	}
	for k := None; k <= Record; k++ {
		if kinds[k] < 300 {
			t.Errorf("only %d values of kind %v were tried", kinds[k], k)
		}
	}
}

func TestOneValueHasOneForm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	forms, labelled := map[string]Value{}, map[string]Value{}
	met := 0
	for range 30_000 {
		v := random(r, 2)
		plain := string(v.AppendPlain(nil))
		if w, ok := forms[plain]; ok {
			met++
			if !same(v, w, false) {
				t.Fatalf("%s and %s are both encoded as %s", v.Text(), w.Text(), plain)
			}
		}
		forms[plain] = v
		d := v.LabelledDigest()
		if w, ok := labelled[d]; ok && !same(v, w, true) {
			t.Fatalf("%s and %s have one labelled digest", v.Text(), w.Text())
		}
		labelled[d] = v
		if u := v.Relabel(func(label.Label) label.Label { return label.Top() }); u.Digest() != v.Digest() {
			t.Fatalf("the digest of %s without labels depends on them", v.Text())
		}
	}
	if met < 1000 {
		t.Errorf("only %d values met an equal one", met)
	}
}

func TestCheck(t *testing.T) {
	one := IntOf(1, ana)
	str := StringOf("x", ana)
	dict := func(keys ...Value) Value {
		v := DictOf(ana)
		for _, k := range keys {
			v.Keys, v.Items = append(v.Keys, k), append(v.Items, one)
		}
		return v
	}
	tuple := func(items ...Value) Value { v := ListOf(ana, items...); v.Kind = Tuple; return v }
	set := func(items ...Value) Value { v := ListOf(ana, items...); v.Kind = Set; return v }
	record := func(name string, of Value) Value {
		return Value{Kind: Record, Label: ana, Structure: ana, Keys: []Value{StringOf(name, ana)}, Items: []Value{of}}
	}
	for _, test := range []struct {
		name string
		v    Value
		want string // "": it may cross
	}{
		{"nothing", Value{}, "value: got an invalid value"},
		{"a kind that is none", Value{Kind: 77}, "value: got an invalid value"},
		{"an int without a number", Value{Kind: Int}, "value: got an int without a number"},
		{"an int at the limit", Value{Kind: Int, Int: new(big.Int).Lsh(big.NewInt(1), MaxIntBits-1)}, ""},
		{"an int past the limit", Value{Kind: Int, Int: new(big.Int).Lsh(big.NewInt(1), MaxIntBits)}, "got an int of 524289 bits, want at most 524288"},
		{"a dict with a key too many", Value{Kind: Dict, Keys: []Value{str}}, "got a dict of 1 keys and 0 items"},
		{"a struct with an item too many", Value{Kind: Record, Items: []Value{str}}, "got a struct of 0 keys and 1 items"},
		{"a list with keys", Value{Kind: List, Keys: []Value{str}, Items: []Value{str}}, "got a list with 1 keys and 1 items"},
		{"a string with items", Value{Kind: String, Items: []Value{str}}, "got a string with 0 keys and 1 items"},
		{"a struct with a number for a name", Value{Kind: Record, Keys: []Value{one}, Items: []Value{one}}, "got a struct with a name of type int"},
		{"keys of every kind", dict(str, one, NoneOf(ana), BoolOf(true, ana), FloatOf(1.5, ana), Value{Kind: Bytes, Str: "x"}, tuple(one, tuple())), ""},
		{"a list for a key", dict(ListOf(ana)), "got a key of type list, want a scalar, or a tuple or struct of such"},
		{"a tuple with a list for a key", dict(tuple(ListOf(ana))), "got a key of type tuple, want"},
		{"an invalid key", dict(Value{}), "got a key of type invalid"},
		{"a key twice", dict(str, one, str), `got the key "x" twice`},
		{"one of few keys twice", dict(str, StringOf("y", ana), str), `got the key "x" twice`},
		{"an int and the float that equals it", dict(one, FloatOf(1, ana)), "got the key 1.0 twice"},
		{"zero and minus zero", dict(FloatOf(0, ana), FloatOf(math.Copysign(0, -1), ana)), "got the key -0.0 twice"},
		{"a large int and the float that equals it", dict(Value{Kind: Int, Int: new(big.Int).Lsh(big.NewInt(1), 100)}, FloatOf(math.Ldexp(1, 100), ana)), "twice"},
		{"a large int beside the float next to it", dict(Value{Kind: Int, Int: new(big.Int).Add(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 100))}, FloatOf(math.Ldexp(1, 100), ana)), ""},
		{"True and 1 are two keys", dict(one, BoolOf(true, ana)), ""},
		{"text and bytes are two keys", dict(str, Value{Kind: Bytes, Str: "x"}), ""},
		{"the text 1 and the number 1 are two keys", dict(one, StringOf("1", ana)), ""},
		{"a tuple twice", dict(tuple(one, str), tuple(FloatOf(1, ana), str)), `got the key (1.0, "x") twice`},
		{"tuples that only look alike", dict(tuple(str, str), tuple(tuple(str), str), tuple(str, tuple(str))), ""},
		{"structs that differ", dict(record("a", one), record("b", one), record("a", str), tuple(str, one)), ""},
		{"a struct twice", dict(record("a", one), record("a", FloatOf(1, ana))), "got the key struct(a = 1.0) twice"},
		{"a struct with a list for a key", dict(record("a", ListOf(ana))), "got a key of type struct, want"},
		{"nan twice", set(FloatOf(math.NaN(), ana), FloatOf(math.NaN(), ana)), "got the key nan twice"},
		{"a set with a list", set(ListOf(ana)), "got a key of type list"},
		{"where it is", ListOf(ana, one, DictOf(ana, Field{"a", one}, Field{"x y", ListOf(ana, Value{})})), `value: [1]["x y"][0]: got an invalid value`},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.v.Check()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			b, encodeErr := test.v.MarshalJSON()
			if (encodeErr == nil) != (err == nil) {
				t.Errorf("MarshalJSON: got %v, and from Check %v", encodeErr, err)
			}
			if err == nil {
				var got Value
				if err := json.Unmarshal(b, &got); err != nil || !same(test.v, got, true) {
					t.Errorf("it is not what it was once it has crossed: %v", err)
				}
			}
		})
	}
}

// nested returns an empty tuple within n containers of a kind.
func nested(kind Kind, n int) Value {
	v := Value{Kind: Tuple, Label: ana, Structure: ana}
	for range n {
		w := Value{Kind: kind, Label: ana, Structure: ana, Items: []Value{v}}
		if kind == Dict || kind == Record {
			w.Keys = []Value{StringOf("$k", mailed)}
		}
		v = w
	}
	return v
}

func TestDepth(t *testing.T) {
	for _, kind := range []Kind{List, Tuple, Dict, Record} {
		t.Run(kind.String(), func(t *testing.T) {
			deepest := nested(kind, MaxDepth-1)
			b, err := json.Marshal(deepest)
			if err != nil {
				t.Fatalf("the deepest that may cross: %v", err)
			}
			var got Value
			if err := json.Unmarshal(b, &got); err != nil || !same(deepest, got, true) {
				t.Fatalf("the deepest that may cross, decoded: %v", err)
			}
			deeper := nested(kind, MaxDepth)
			if err := deeper.Check(); err == nil || !strings.Contains(err.Error(), "nested deeper than 1000") {
				t.Errorf("Check of one deeper: %v", err)
			}
			if _, err := deeper.MarshalJSON(); err == nil {
				t.Error("MarshalJSON of one deeper gives no error")
			}
			if _, err := DecodePlain(deeper.AppendPlain(nil), ana); err == nil || !strings.Contains(err.Error(), "nested deeper than 1000") {
				t.Errorf("DecodePlain of one deeper: %v", err)
			}
		})
	}
	text := strings.Repeat("[", 200_000)
	for name, f := range map[string]func([]byte, label.Label) (Value, error){"DecodePlain": DecodePlain, "FromJSON": FromJSON} {
		for _, text := range []string{text, strings.ReplaceAll(text, "[", `{"a":`), strings.ReplaceAll(text, "[", `{"$dict":[[`), strings.ReplaceAll(text, "[", `{"$dict":[[0,`)} {
			if _, err := f([]byte(text), ana); err == nil {
				t.Errorf("%s of many %.10s gives no error", name, text)
			}
		}
	}
	x := any("x")
	for n := range 100*MaxDepth + 1 {
		x = []any{x}
		if n == MaxDepth {
			if v, err := Of(x, ana); err != nil || v.Check() == nil {
				t.Errorf("Of something too deep: %.80v; want a value that may not cross", err)
			}
		}
	}
	if _, err := Of(x, ana); err == nil || err.Error() != "nested deeper than 1000" {
		t.Errorf("Of something much too deep: %.80v", err)
	}
}

func TestNoTreeIsTooDeepToBeLookedAt(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20)) // what recurses down all of it dies
	const deep = 50_000
	for _, kind := range []Kind{List, Dict} {
		v := nested(kind, deep)
		if got, want := v.Deep(), ana.Join(mailed); kind == Dict && !got.Equal(want) || kind == List && !got.Equal(ana) {
			t.Errorf("%v: Deep = %v", kind, got)
		}
		if got := v.Size(); got <= deep {
			t.Errorf("%v: Size = %d", kind, got)
		}
		w := v.Joined(mailed)
		if w.Size() != v.Size() || !w.Deep().Equal(ana.Join(mailed)) {
			t.Errorf("%v: Joined is another tree, or labelled %v", kind, w.Deep())
		}
		if v.LabelledDigest() == w.LabelledDigest() || v.Digest() != w.Digest() || v.Digest() == nested(kind, deep-1).Digest() {
			t.Errorf("%v: digests do not tell deep trees apart", kind)
		}
		var leaves []Value
		var l label.Label
		v.Walk(false, func(_ string, v Value, at label.Label) { leaves, l = append(leaves, v), at })
		if len(leaves) != 1 || leaves[0].Kind != Invalid || !l.Equal(v.Deep()) {
			t.Errorf("%v: Walk gives %d leaves, labelled %v; want one that stands for what is too deep, with all its labels", kind, len(leaves), l)
		}
		if !strings.Contains(v.Text(), "...") {
			t.Errorf("%v: Text does not say that it was cut", kind)
		}
		v.Plain()
		if err := v.Check(); err == nil || len(err.Error()) > 400 {
			t.Errorf("%v: Check = %.500v", kind, err)
		}
	}
}

func TestOf(t *testing.T) {
	v, err := Of(map[string]any{
		"b": []any{nil, true, 1, int64(2), uint64(math.MaxUint64), 1.5, big.NewInt(7), json.Number("12345678901234567890"), json.Number("1e3"), "s", []byte("b"), []string{"x"}},
		"a": []Field{{"z", StringOf("kept", mailed)}, {"y", NoneOf(ana)}},
	}, ana)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a": {"z": "kept", "y": None}, "b": [None, True, 1, 2, 18446744073709551615, 1.5, 7, 12345678901234567890, 1000.0, "s", b"b", ["x"]]}`
	if got := v.Text(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if z, _ := v.Items[0].Get("z"); !z.Label.Equal(mailed) || !v.Items[1].Items[3].Label.Equal(ana) {
		t.Error("labels are not those given, or a value lost its own")
	}
	for _, test := range []struct {
		in   any
		want string
	}{
		{struct{}{}, "got Go type struct {}, want plain data"},
		{map[string]any{"a": []any{1, make(chan int)}}, ".a: [1]: got Go type chan int"},
		{(*big.Int)(nil), "got a nil *big.Int"},
		{json.Number("1x"), `got "1x", want a number`},
		{json.Number(""), `got "", want a number`},
		{json.Number("1e999"), `got "1e999", want a number`},
		{[]Field{{"a", NoneOf(ana)}, {"a", NoneOf(ana)}}, `got the key "a" twice`},
		{[]any{Value{}}, "[0]: got an invalid value"},
	} {
		if _, err := Of(test.in, ana); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Of(%v): got %v, want %q", test.in, err, test.want)
		}
	}
}

func TestPlainIsACopy(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 80)
	v := Value{Kind: Int, Int: huge}
	v.Plain().(*big.Int).SetInt64(0)
	if huge.Sign() == 0 {
		t.Error("changing what Plain gave changed the value")
	}
	d := DictOf(ana, Field{"a", ListOf(ana, FloatOf(1, ana))})
	d.Keys = append(d.Keys, IntOf(1, ana), ListOf(ana))
	d.Keys[2].Kind = Tuple
	d.Items = append(d.Items, BoolOf(true, ana), Value{Kind: Bytes, Str: "x"})
	if got, want := fmt.Sprint(d.Plain()), "map[():[120] 1:true a:[1]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWalk(t *testing.T) {
	secret := label.New(label.System, label.Public(), []string{"secret"})
	body := StringOf("hi", mailed)
	item := DictOf(label.Bottom(), Field{"body", body}, Field{"a.b", IntOf(1, ana)}, Field{"", NoneOf(label.Bottom())}, Field{"a#key", NoneOf(label.Bottom())})
	item.Keys[0].Label = secret
	item.Keys = append(item.Keys, IntOf(0, label.Bottom()))
	item.Items = append(item.Items, BoolOf(true, label.Bottom()))
	list := ListOf(label.Bottom(), item)
	list.Structure = ana
	var got []string
	list.Walk(true, func(path string, v Value, l label.Label) { got = append(got, path+" "+v.Text()+" "+l.String()) })
	want := []string{
		`[0].body#key "body" user/{ana}#secret`,
		`[0].body "hi" untrusted/{ana}#pii#secret`,
		`[0]["a.b"]#key "a.b" user/{ana}`,
		`[0]["a.b"] 1 user/{ana}`,
		`[0][""]#key "" user/{ana}`,
		`[0][""] None user/{ana}`,
		`[0]["a#key"]#key "a#key" user/{ana}`,
		`[0]["a#key"] None user/{ana}`,
		`[0][0]#key 0 user/{ana}`,
		`[0][0] True user/{ana}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		v := random(r, 4)
		seen := map[string]bool{}
		all := label.Bottom()
		v.Walk(true, func(path string, _ Value, l label.Label) {
			if seen[path] {
				t.Fatalf("%s: two scalars at %s", v.Text(), path)
			}
			seen[path], all = true, all.Join(l)
		})
		if !all.FlowsTo(v.Deep()) {
			t.Fatalf("%s: Walk met %v, Deep says %v", v.Text(), all, v.Deep())
		}
	}
}

func TestRewriteLeavesTheOriginal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		v := random(r, 4)
		before := v.LabelledDigest()
		w := v.Rewrite(func(n Value) Value {
			if n.Label.HasTag("pii") {
				return StringOf("gone", n.Label)
			}
			return n
		})
		if v.LabelledDigest() != before {
			t.Fatalf("%s was changed", v.Text())
		}
		for n := range w.nodes {
			if n.Label.HasTag("pii") && n.Text() != `"gone"` {
				t.Fatalf("%s has %s left", w.Text(), n.Text())
			}
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`{"$float":"nan"}`:                      "nan",
		`[{"$float":"+inf"},{"$float":"-inf"}]`: "[+inf, -inf]",
		`{"$tuple":[1]}`:                        "(1,)",
		`{"$tuple":[]}`:                         "()",
		`{"$set":["a",-0.0]}`:                   `set(["a", -0.0])`,
		`{"$struct":[["a",null],["b",false]]}`:  "struct(a = None, b = False)",
		`{"$dict":[[{"$tuple":[1,2]},"x\n"]]}`:  `{(1, 2): "x\n"}`,
		`{"$bytes":"AAE="}`:                     `b"\x00\x01"`,
	} {
		v, err := DecodePlain([]byte(in), ana)
		if err != nil || v.Text() != want {
			t.Errorf("Text of %s = %s, %v; want %s", in, v.Text(), err, want)
		}
	}
	if got := (Value{}).Text(); got != "<invalid>" {
		t.Errorf("Text of nothing = %s", got)
	}
}
