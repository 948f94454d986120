package label

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pairs is how many random labels a property is tried on.
const pairs = 3_000

// random returns a label over a few names, so that labels meet, and sometimes over many sources and
// grants, so that they are truncated.
func random(r *rand.Rand) Label {
	switch r.IntN(20) {
	case 0:
		return Top()
	case 1:
		return Bottom()
	}
	readers := Public()
	if r.IntN(3) > 0 {
		readers = Only(some(r, "ana", "bob", "cyd", "dan")...)
	}
	tags := some(r, "pii", "secret", "team")
	if r.IntN(15) == 0 {
		tags = append(tags, "*")
	}
	l := New(Trust(r.IntN(4)), readers, tags)
	reach := 4
	if r.IntN(4) == 0 {
		reach = 2 * MaxSources
	}
	for range r.IntN(reach) {
		l = l.WithSources(Source{Tool: "t", Of: fmt.Sprint(r.IntN(reach)), Field: []string{"", "f"}[r.IntN(2)]})
	}
	for range r.IntN(reach) {
		l = l.WithGrant(Grant{Call: fmt.Sprint(r.IntN(reach)), Trust: Trust(r.IntN(4)), Bits: r.IntN(9)})
	}
	return l
}

func some(r *rand.Rand, names ...string) []string {
	var out []string
	for _, n := range names {
		if r.IntN(2) == 0 {
			out = append(out, n)
		}
	}
	return out
}

func TestLatticeLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var equal, flow, truncated int
	for range pairs {
		a, b, c := random(r), random(r), random(r)
		if r.IntN(4) == 0 {
			b = a.Join(c) // so that flows are not rare
		}
		ab := a.Join(b)
		law := func(name string, holds bool) {
			if !holds {
				t.Fatalf("%s does not hold for\na = %v %+v\nb = %v %+v\nc = %v %+v", name, a, a.origin(), b, b.origin(), c, c.origin())
			}
		}
		law("a⊔b = b⊔a", ab.Equal(b.Join(a)))
		law("(a⊔b)⊔c = a⊔(b⊔c)", ab.Join(c).Equal(a.Join(b.Join(c))))
		law("a⊔a = a", a.Join(a).Equal(a))
		law("a⊔(a⊔b) = a⊔b", a.Join(ab).Equal(ab))
		law("a⊔⊥ = a", a.Join(Bottom()).Equal(a) && Bottom().Join(a).Equal(a))
		law("a⊔⊤ has the class of ⊤", a.Join(Top()).SameClass(Top()))
		law("a ⊑ ⊤ and ⊥ ⊑ a", a.FlowsTo(Top()) && Bottom().FlowsTo(a))
		law("a ⊑ a⊔b", a.FlowsTo(ab) && b.FlowsTo(ab))
		law("a ⊑ b if and only if a⊔b = b", a.FlowsTo(b) == ab.SameClass(b))
		law("antisymmetry", !(a.FlowsTo(b) && b.FlowsTo(a)) || a.SameClass(b))
		law("transitivity", !(a.FlowsTo(b) && b.FlowsTo(c)) || a.FlowsTo(c))
		law("least: a ⊑ c and b ⊑ c give a⊔b ⊑ c", !(a.FlowsTo(c) && b.FlowsTo(c)) || ab.FlowsTo(c))
		law("monotone: a ⊑ b gives a⊔c ⊑ b⊔c", !a.FlowsTo(b) || a.Join(c).FlowsTo(b.Join(c)))
		law("sources do not decide", a.WithoutSources().FlowsTo(b) == a.FlowsTo(b) && a.WithoutSources().SameClass(a))
		law("equal labels have equal keys, others others", a.Equal(b) == (string(a.AppendKey(nil)) == string(b.AppendKey(nil))))
		law("no reader is gained", a.Readers().Covers(ab.Readers()) && b.Readers().Covers(ab.Readers()))
		law("no tag is lost", ab.HasTag("pii") == (a.HasTag("pii") || b.HasTag("pii")))
		law("trust is the lower", ab.Trust() == min(a.Trust(), b.Trust()))
		law("a choice does not shrink", ab.Choice().Bits >= a.Choice().Bits && ab.Choice().Trust <= a.Choice().Trust)
		law("no source is lost unseen", ab.More() || len(ab.Sources()) >= len(a.Sources()))
		if a.Equal(b) {
			equal++
		}
		if a.FlowsTo(b) {
			flow++
		}
		if ab.More() {
			truncated++
		}
	}
	for name, n := range map[string]int{"equal": equal, "flows": flow, "truncated": truncated} {
		if n < pairs/100 {
			t.Errorf("only %d of %d pairs were of the kind %q: the generator is too poor", n, pairs, name)
		}
	}
}

func TestZeroIsTop(t *testing.T) {
	var zero Label
	for name, ok := range map[string]bool{
		"the zero Label is Top":               zero.Equal(Top()),
		"Top is untrusted":                    zero.Trust() == Untrusted,
		"Top is for nobody":                   !zero.Readers().Includes("ana") && !zero.Readers().IsPublic(),
		"Top carries every tag":               zero.HasTag("anything"),
		"Top is from anywhere":                zero.More(),
		"Top was chosen without bound":        zero.Choice() == Choice{Untrusted, Unbounded},
		"Top does not flow to Bottom":         !zero.FlowsTo(Bottom()),
		"the zero Readers are nobody":         !Readers{}.Includes("") && !Readers{}.IsPublic(),
		"the zero ID is Top's":                NewTable().Label(ID(0)).Equal(Top()),
		"an unknown trust is untrusted":       New(9, Public(), nil).Trust() == Untrusted && Bottom().WithTrust(9).Trust() == Untrusted,
		"a grant of a wrong trust too":        Bottom().WithGrant(Grant{"1", 9, 1}).Choice().Trust == Untrusted,
		"negative bits are unbounded":         Bottom().WithGrant(Grant{"1", User, -1}).Choice().Bits == Unbounded,
		"enormous bits are unbounded":         Bottom().WithGrant(Grant{"1", User, 1}).WithGrant(Grant{"2", User, math.MaxInt}).Choice().Bits == Unbounded,
		"a reader that is no UTF-8 is nobody": len(Only("\xff").Names()) == 0,
		"without grants nobody has chosen":    Bottom().Choice() == Choice{System, 0},
	} {
		if !ok {
			t.Errorf("does not hold: %s", name)
		}
	}
}

func TestTruncation(t *testing.T) {
	l := Bottom()
	for i := range MaxSources {
		l = l.WithSources(Source{Tool: "t", Of: fmt.Sprintf("%03d", i)}).WithGrant(Grant{Call: fmt.Sprintf("%03d", i), Trust: Internal, Bits: 1})
	}
	if l.More() || len(l.Sources()) != MaxSources || l.Choice() != (Choice{Internal, MaxSources}) {
		t.Fatalf("at the limit: more %v, %d sources, choice %v; want all named", l.More(), len(l.Sources()), l.Choice())
	}
	again := l.WithSources(Source{Tool: "t", Of: "000"})
	if again.More() {
		t.Error("a source that is named already made more of them")
	}
	past := l.WithSources(Source{Tool: "t", Of: "a"})
	if !past.More() || len(past.Sources()) != MaxSources || past.Choice() != l.Choice() {
		t.Errorf("past the limit of sources: more %v, %d sources, choice %v; want them marked and the choice untouched", past.More(), len(past.Sources()), past.Choice())
	}
	granted := l.WithGrant(Grant{Call: "a", Trust: User, Bits: 1})
	if !granted.More() || len(granted.Grants()) != MaxSources || granted.Choice() != (Choice{Untrusted, Unbounded}) {
		t.Errorf("past the limit of grants: more %v, %d grants, choice %v; want an unbounded choice", granted.More(), len(granted.Grants()), granted.Choice())
	}
	list := make([]Source, 100)
	for i := range list {
		list[i] = Source{Tool: "t", Of: fmt.Sprint(i)}
	}
	if l := New(User, Public(), nil, list...); !l.More() || len(l.Sources()) != MaxSources {
		t.Errorf("New with 100 sources: more %v, %d sources", l.More(), len(l.Sources()))
	}
}

func TestGrantsOfOneCallThatDifferAllCount(t *testing.T) {
	a := Bottom().WithGrant(Grant{"1", User, 1})
	b := Bottom().WithGrant(Grant{"1", Untrusted, 8})
	for _, l := range []Label{a.Join(b), b.Join(a)} {
		if got, want := l.Choice(), (Choice{Untrusted, 9}); got != want {
			t.Errorf("got choice %v, want %v", got, want)
		}
	}
}

func TestLabelsDoNotChangeWithWhatMadeThem(t *testing.T) {
	names, tags, sources := []string{"bob", "ana"}, []string{"pii"}, []Source{{Tool: "t"}}
	l := New(User, Only(names...), tags, sources...)
	want := l.String()
	names[0], tags[0], sources[0] = "eve", "x", Source{Tool: "x"}
	m := l.WithTags("more").WithTrust(Untrusted).WithReaders(Public()).WithSources(Source{Tool: "a"})
	if l.String() != want || !slices.Equal(l.Sources(), []Source{{Tool: "t"}}) || l.HasTag("more") {
		t.Errorf("got %v from %v, want %s from t", l, l.Sources(), want)
	}
	if got := m.String(); got != "untrusted/public#more#pii" {
		t.Errorf("got %s, want untrusted/public#more#pii", got)
	}
}

func TestTextRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	odd := []string{"", "*x", "a,b", "{", "}", "#", "/", "%", "%41", "a b", "\x00", "é", "日本", "\u202e", "public", "ana@corp.example", "group:finance", "\n", "\ufffd"}
	for range pairs {
		l := random(r).WithoutSources()
		if r.IntN(2) == 0 {
			l = New(Trust(r.IntN(4)), Only(some(r, odd...)...), some(r, odd...))
		}
		got, err := Parse(l.String())
		if err != nil || !got.SameClass(l) {
			t.Fatalf("Parse(%q) = %v, %v; want readers %q, tags %q", l.String(), got, err, l.Readers().Names(), l.Tags())
		}
		if strings.ContainsAny(l.String(), " \n\x00\u202e") {
			t.Fatalf("%q has characters that deceive", l.String())
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	odd := []string{"", "\xff", "a\xfeb", "<&>", "\u2028", "é", "\x7f\x00", `"\`}
	for range pairs {
		l := random(r)
		if r.IntN(4) == 0 {
			l = New(Trust(r.IntN(4)), Only(some(r, odd...)...), some(r, odd...), Source{odd[r.IntN(len(odd))], odd[r.IntN(len(odd))], odd[r.IntN(len(odd))]}).
				WithGrant(Grant{odd[r.IntN(len(odd))], User, 1})
		}
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		got := Bottom()
		if err := json.Unmarshal(b, &got); err != nil || !got.Equal(l) {
			t.Fatalf("got %v, %v from %s; want %v", got, err, b, l)
		}
		if own := l.AppendJSON(nil); string(own) != string(b) {
			t.Fatalf("AppendJSON gives %s, which encoding/json turns into %s", own, b)
		}
	}
}

func TestJSONLeftOutIsMostRestrictive(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     Label
	}{
		{"nothing at all", `{}`, Top()},
		{"null", `null`, Top()},
		{"no tags", `{"trust":"system","readers":["*"],"sources":[]}`, New(System, Public(), []string{"*"})},
		{"null tags", `{"trust":"system","readers":["*"],"tags":null,"sources":[]}`, New(System, Public(), []string{"*"})},
		{"no readers", `{"trust":"system","tags":[],"sources":[]}`, New(System, Only(), nil)},
		{"no trust", `{"readers":["*"],"tags":[],"sources":[]}`, New(Untrusted, Public(), nil)},
		{"no sources", `{"trust":"system","readers":["*"],"tags":[]}`, Bottom().Join(Label{bottom, manyOrigin})},
		{"negative bits", `{"trust":"system","readers":["*"],"tags":[],"sources":[],"grants":[{"call":"1","trust":"user","bits":-5}]}`,
			Bottom().WithGrant(Grant{"1", User, Unbounded})},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Bottom()
			if err := json.Unmarshal([]byte(test.in), &got); err != nil || !got.Equal(test.want) {
				t.Errorf("got %v %+v, %v; want %v %+v", got, got.origin(), err, test.want, test.want.origin())
			}
		})
	}
	got := Bottom()
	if err := json.Unmarshal([]byte(`{"trust":"root"}`), &got); err == nil || !got.Equal(Top()) {
		t.Errorf("an unknown trust gave %v and error %v, want Top and an error", got, err)
	}
}

func TestExplain(t *testing.T) {
	l := New(User, Public(), nil, Source{"mail.read", "04.eml", "body"}, Source{"csv.read", "vendors.csv", ""}, Source{Tool: "prompt"})
	for n, want := range map[int]string{
		0: "…",
		1: "csv.read vendors.csv, …",
		3: "csv.read vendors.csv, mail.read 04.eml (body), prompt",
	} {
		if got := l.Explain(n); got != want {
			t.Errorf("Explain(%d) = %q, want %q", n, got, want)
		}
	}
	if got := Top().Explain(3) + "|" + Bottom().Explain(3); got != "many sources|" {
		t.Errorf("Top and Bottom explain as %q, want many sources and nothing", got)
	}
}
