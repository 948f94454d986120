package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"callgate/engine/label"
)

// TestEncodingVectors runs spec/vectors/label/encoding.json.
func TestEncodingVectors(t *testing.T) {
	b, err := os.ReadFile("../../spec/vectors/label/encoding.json")
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		About string
		Plain []struct {
			Rule, Name, Kind, Text, Encoding, Digest string
			Read                                     []string // other JSON that is read as the same value
		}
		Labelled []struct {
			Rule, Name string
			Encoding   json.RawMessage
			Nodes      []string // in the order of the encoding: the class of each label
			Digest     string
		}
		Refused []struct {
			Rule, Name, Read, Error string
		}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil || len(in.Plain)*len(in.Labelled)*len(in.Refused) == 0 {
		t.Fatalf("%d, %d and %d vectors, %v", len(in.Plain), len(in.Labelled), len(in.Refused), err)
	}
	for _, c := range in.Plain {
		t.Run(c.Name, func(t *testing.T) {
			for _, read := range append([]string{c.Encoding}, c.Read...) {
				v, err := DecodePlain([]byte(read), ana)
				if err != nil {
					t.Fatalf("[%s] %s: %v", c.Rule, read, err)
				}
				if got := string(v.AppendPlain(nil)); got != c.Encoding {
					t.Errorf("[%s] %s is encoded as %s, want %s", c.Rule, read, got, c.Encoding)
				}
				if v.Kind.String() != c.Kind || v.Text() != c.Text || v.Digest() != c.Digest {
					t.Errorf("[%s] %s is the %v %s with digest %s, want the %s %s with %s", c.Rule, read, v.Kind, v.Text(), v.Digest(), c.Kind, c.Text, c.Digest)
				}
			}
		})
	}
	for _, c := range in.Labelled {
		t.Run(c.Name, func(t *testing.T) {
			var v Value
			if err := json.Unmarshal(c.Encoding, &v); err != nil {
				t.Fatal(err)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, c.Encoding); err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(v); err != nil || string(got) != compact.String() {
				t.Errorf("[%s] encoded again: got %s, %v; want %s", c.Rule, got, err, compact.String())
			}
			if got := classes(v); !reflect.DeepEqual(got, c.Nodes) {
				t.Errorf("[%s] got labels %q, want %q", c.Rule, got, c.Nodes)
			}
			if got := v.LabelledDigest(); got != c.Digest {
				t.Errorf("[%s] got digest %s, want %s", c.Rule, got, c.Digest)
			}
		})
	}
	for _, c := range in.Refused {
		t.Run(c.Name, func(t *testing.T) {
			if v, err := DecodePlain([]byte(c.Read), ana); err == nil || !strings.Contains(err.Error(), c.Error) {
				t.Errorf("[%s] %s is read as %s, %v; want an error with %s", c.Rule, c.Read, v.Text(), err, c.Error)
			}
		})
	}
}

// classes returns the classes of the nodes of a tree in the order of the encoding.
func classes(v Value) []string {
	out := []string{v.Label.String()}
	if v.Scalar() {
		return out
	}
	out = append(out, v.Structure.String())
	for i, e := range v.Items {
		if v.Keys != nil {
			out = append(out, classes(v.Keys[i])...)
		}
		out = append(out, classes(e)...)
	}
	return out
}

func TestUnmarshalRefusesLabelsThatDoNotFit(t *testing.T) {
	const bottom = `{"trust":"system","readers":["*"],"tags":[],"sources":[],"more":false}`
	for _, test := range []struct{ name, in, want string }{
		{"too few", `{"value":[1,2],"labels":[` + bottom + `,{}],"nodes":[0,0,1]}`, "fewer labels than nodes"},
		{"too many", `{"value":[1],"labels":[` + bottom + `,{}],"nodes":[0,0,1,1]}`, "more labels than nodes"},
		{"none", `{"value":1,"labels":[],"nodes":[]}`, "fewer labels than nodes"},
		{"one that is not there", `{"value":1,"labels":[` + bottom + `],"nodes":[1]}`, "got label 1 of 1"},
		{"a negative one", `{"value":1,"labels":[` + bottom + `],"nodes":[-1]}`, "got label -1 of 1"},
		{"no nodes at all", `{"value":1,"labels":[` + bottom + `]}`, "fewer labels than nodes"},
		{"no value", `{"labels":[` + bottom + `],"nodes":[0]}`, "got the end, want a value"},
		{"a bad label", `{"value":1,"labels":[{"trust":"root"}],"nodes":[0]}`, `got "root"`},
		{"not an object", `7`, "cannot unmarshal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := BoolOf(true, label.Bottom())
			err := json.Unmarshal([]byte(test.in), &v)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if v.Kind != Invalid || !v.Label.Equal(label.Top()) {
				t.Errorf("what was there stays: %s labelled %v", v.Text(), v.Label)
			}
		})
	}
}

func TestFromJSONTakesNothingForSpecial(t *testing.T) {
	v, err := FromJSON([]byte(` {"$bytes": "AAE=", "n": [1, 1.0, 1e2, -0, 123456789012345678901, "\ud83d\ude00 \ud83d x"], "$ref": {"$tuple": 1}} `), mailed)
	want := `{"$bytes": "AAE=", "n": [1, 1.0, 100.0, 0, 123456789012345678901, "😀 � x"], "$ref": {"$tuple": 1}}`
	if err != nil || v.Text() != want || !v.Deep().Equal(mailed) {
		t.Errorf("got %s labelled %v, %v; want %s", v.Text(), v.Deep(), err, want)
	}
	for in, want := range map[string]string{
		`{"a":1,"a":2}`:              `got the key "a" twice`,
		`1e999`:                      "out of range",
		"\"\xff\"":                   "no UTF-8",
		"[1,]":                       "got ']', want a value",
		"[1 2]":                      "got '2', want a comma or ']'",
		"":                           "got the end, want a value",
		"nul":                        "got 'n', want a value",
		"1 1":                        "byte 2: got '1', want the end",
		"\"\t\"":                     "want an escape",
		`"\x"`:                       "want one of",
		`"\u12"`:                     "four hex digits",
		"01":                         "want the end",
		"-":                          "want a digit",
		"1.":                         "want a digit",
		"1e+":                        "want a digit",
		"{1:2}":                      "got '1', want a key",
		strings.Repeat("9", 200_000): "got an int of 200000 digits",
	} {
		if v, err := FromJSON([]byte(in), mailed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FromJSON(%.20q) = %.40s, %v; want an error with %s", in, v.Text(), err, want)
		}
	}
}

func TestEncodingManyLabelsTakesLinearTime(t *testing.T) {
	v := ListOf(label.Bottom())
	for i := range 40_000 {
		l := label.New(label.User, label.Public(), nil, label.Source{Tool: "t", Of: fmt.Sprint(i % 20_000)})
		v.Items = append(v.Items, IntOf(int64(i), l))
	}
	start := time.Now()
	b, err := json.Marshal(v)
	if took := time.Since(start); err != nil || took > 10*time.Second { // comparing each with each took minutes
		t.Errorf("%v, took %v", err, took)
	}
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil || len(e.Labels) != 20_001 {
		t.Errorf("%v, %d labels in the table; want 20001: equal ones once", err, len(e.Labels))
	}
}

func FuzzDecodePlain(f *testing.F) {
	for _, seed := range []string{
		`null`, `[true,-1.5e3,"x\u00e9\ud83d\ude00"]`, `{"a":{"$tuple":[1,{"$set":[1.5]}]}}`, `{"$dict":[[1,2],[{"$string":"/w=="},{"$float":"nan"}]]}`,
		`{"$struct":[["a",{"$bytes":""}]]}`, `{"$invalid":true}`, `123456789012345678901234567890`, `{"a":1,"a":2}`, `{"$a":1,"b":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodePlain(b, mailed)
		if err != nil {
			if v.Kind != Invalid {
				t.Fatalf("an error and a value: %s, %v", v.Text(), err)
			}
			return
		}
		if err := v.Check(); err != nil {
			t.Fatalf("%q is read as what may not cross: %v", b, err)
		}
		plain := v.AppendPlain(nil)
		again, err := DecodePlain(plain, mailed)
		if err != nil || !same(v, again, true) || !bytes.Equal(again.AppendPlain(nil), plain) {
			t.Fatalf("%q is %s, and then %s, %v", b, plain, again.AppendPlain(nil), err)
		}
		full, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got Value
		if err := json.Unmarshal(full, &got); err != nil || !same(v, got, true) {
			t.Fatalf("%s does not come back: %v", full, err)
		}
	})
}

// FuzzFromJSON compares FromJSON with the standard library.
func FuzzFromJSON(f *testing.F) {
	for _, seed := range []string{`[1,2.50,"a\/b",{"k":null}]`, `"\ud800"`, ` {"$x":1} `, `1e5`, `-0`, `"\u2028<"`, `[`, `{"a":1,"a":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := FromJSON(b, mailed)
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		var want any
		valid := json.Valid(b) && d.Decode(&want) == nil
		if err != nil {
			mayRefuse := !utf8.Valid(b) || strings.Contains(err.Error(), "twice") || strings.Contains(err.Error(), "deeper") ||
				strings.Contains(err.Error(), "out of range") || strings.Contains(err.Error(), "int of")
			if valid && !mayRefuse {
				t.Fatalf("%q is JSON, but %v", b, err)
			}
			return
		}
		if !valid {
			t.Fatalf("%q is no JSON, but read as %s", b, v.Text())
		}
		if got := v.Plain(); !reflect.DeepEqual(got, numbers(want)) {
			t.Fatalf("%q is read as %#v, want %#v", b, got, numbers(want))
		}
	})
}

// numbers turns the numbers that encoding/json read into those that Plain gives.
func numbers(x any) any {
	switch x := x.(type) {
	case json.Number:
		if i, ok := new(big.Int).SetString(x.String(), 10); ok {
			if i.IsInt64() {
				return i.Int64()
			}
			return i
		}
		f, _ := x.Float64()
		return f
	case []any:
		for i := range x {
			x[i] = numbers(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = numbers(x[k])
		}
	}
	return x
}

// records returns a list of n records with three labels.
func records(n int) Value {
	v := ListOf(label.Bottom())
	for i := range n {
		v.Items = append(v.Items, DictOf(ana,
			Field{"id", IntOf(int64(i), ana)},
			Field{"from", StringOf("bob@corp.example", mailed)},
			Field{"body", StringOf("a line of text, as people write it", mailed)},
		))
	}
	return v
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		v := records(n)
		b.Run(fmt.Sprintf("plain, %d records", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(v.AppendPlain(nil))))
			for b.Loop() {
				v.AppendPlain(nil)
			}
		})
		b.Run(fmt.Sprintf("labelled, %d records", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.MarshalJSON(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("digest, %d records", n), func(b *testing.B) {
			for b.Loop() {
				v.LabelledDigest()
			}
		})
		b.Run(fmt.Sprintf("deep label, %d records", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.Deep()
			}
		})
		data, err := v.MarshalJSON()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("decode, %d records", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var v Value
				if err := v.UnmarshalJSON(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
