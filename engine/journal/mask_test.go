package journal

import (
	"reflect"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

const hidden = "hunter2-hunter2"

var secret = label.New(label.User, label.Only("ana"), []string{"secret"}, label.Source{Tool: "vault.read"})

// withSecrets has, for each type of payload that can hold data, one whose data is secret.
func withSecrets() map[Type]any {
	leaf := value.StringOf(hidden, secret)
	dict := value.DictOf(label.Bottom(), value.Field{Name: "user", Of: value.StringOf("ana", label.Bottom())}, value.Field{Name: "password", Of: leaf})
	return map[Type]any{
		RunStart:   RunStarted{Inputs: []Input{{Name: "password", Value: leaf}}},
		TurnStart:  TurnStarted{Program: "x = '" + hidden + "'", Author: secret},
		ModelReply: ModelReplied{Text: hidden, Context: secret, Calls: []ModelCall{{ID: hidden, Name: hidden, Input: hidden}}},
		Decided: DecisionMade{
			Args: []Argument{{Name: "login", Value: dict}},
			Decision: policies.Decision{
				Reasons:   []policies.Reason{{ID: "login.weak", Message: "too weak: " + hidden}},
				Approvals: []policies.Approval{{Ask: "login.ask", Message: hidden}},
			},
		},
		CallResult:  CallEnded{Value: &dict, Text: "wrong password " + hidden, Told: "wrong password " + hidden, Label: secret},
		Observation: Observed{Shown: true, Text: hidden, Label: secret},
		Granted:     GrantGiven{Scope: &Scope{Args: []ScopedArg{{Name: "iban", Label: secret, Value: &dict}}}},
		Endorsed:    EndorsementMade{Why: hidden, From: label.Bottom(), To: label.Bottom(), Asked: &secret},
		ProgramEnd:  ProgramEnded{Message: hidden, Label: secret},
		RunEnd:      RunEnded{Answer: &leaf},
	}
}

func TestSecretsNeverArrive(t *testing.T) {
	payloads := withSecrets()
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t)
			r, err := Begin(t.Context(), s, "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.Watch(func(e Event) {
				if strings.Contains(string(e.Payload), hidden) {
					t.Errorf("a watcher sees the secret in %s", e.Payload)
				}
			})
			for _, typ := range []Type{RunStart, TurnStart, ModelReply, Decided, CallResult, Granted, Observation, Endorsed, ProgramEnd, RunEnd} {
				payload := payloads[typ]
				if typ != RunStart { // by pointer, too
					p := reflect.New(reflect.TypeOf(payload))
					p.Elem().Set(reflect.ValueOf(payload))
					payload = p.Interface()
				}
				if _, err := r.Append(t.Context(), typ, "", payload, false); err != nil {
					t.Fatal(err)
				}
			}
			events, err := s.Read(t.Context(), "x", 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if strings.Contains(string(e.Payload), hidden) {
					t.Errorf("%s holds the secret: %s", e.Type, e.Payload)
				}
				if !strings.Contains(string(e.Payload), `masked:`) {
					t.Errorf("%s does not show that something was masked: %s", e.Type, e.Payload)
				}
			}
			decision, err := Decode[DecisionMade](events[3])
			if err != nil {
				t.Fatal(err)
			}
			login := decision.Args[0].Value
			if user, _ := login.Get("user"); user.Str != "ana" {
				t.Errorf("what is not secret is gone: %s", login.Text())
			}
			if password, _ := login.Get("password"); !password.Label.Equal(secret) {
				t.Errorf("the masked value is labelled %v, want %v", password.Label, secret)
			}
			if decision.Decision.Reasons[0].ID != "login.weak" {
				t.Error("the rule's id is gone")
			}
		})
	}
	if got := payloads[CallResult].(CallEnded).Value.Items[1].Str + payloads[Decided].(DecisionMade).Decision.Reasons[0].Message; got != hidden+"too weak: "+hidden {
		t.Errorf("masking changed the caller's payload: %q", got)
	}
}

// A payload that holds data, or a label and so data, must be masked.
func TestEveryPayloadWithDataIsMaskable(t *testing.T) {
	tested := withSecrets()
	for typ, of := range payloads {
		if !holdsData(of, map[reflect.Type]bool{}) {
			continue
		}
		if !of.Implements(reflect.TypeFor[maskable]()) || tested[typ] == nil {
			t.Errorf("%s (%s) holds data: is it masked: %v, and tested: %v", typ, of, of.Implements(reflect.TypeFor[maskable]()), tested[typ] != nil)
		}
	}
}

func holdsData(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == reflect.TypeFor[value.Value]() || t == reflect.TypeFor[label.Label]() {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return holdsData(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsData(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func TestMaskingTrees(t *testing.T) {
	m := newMasker()
	low := label.Bottom()
	leaf := value.StringOf(hidden, secret)
	mask := m.value(leaf).Str
	for _, test := range []struct {
		name string
		in   value.Value
		want string
	}{
		{"nothing secret", value.ListOf(low, value.IntOf(1, low)), "[1]"},
		{"one element", value.ListOf(low, leaf, value.IntOf(1, low)), `["` + mask + `", 1]`},
		{"a secret list as a whole", value.Value{Kind: value.List, Label: secret, Structure: low, Items: []value.Value{value.IntOf(1, low)}}, ""},
		{"a secret structure as a whole", value.Value{Kind: value.List, Label: low, Structure: secret, Items: []value.Value{value.IntOf(1, low)}}, ""},
		{"a secret key", value.Value{Kind: value.Dict, Label: low, Structure: low, Keys: []value.Value{leaf}, Items: []value.Value{value.IntOf(1, low)}}, `{"` + mask + `": 1}`},
		{"a secret number", value.IntOf(4711, secret), ""},
		{"what may be anything", value.StringOf(hidden, label.Top()), `"` + mask + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := m.value(test.in)
			if test.want != "" && got.Text() != test.want {
				t.Errorf("got %s, want %s", got.Text(), test.want)
			}
			if test.want == "" && (got.Kind != value.String || !strings.HasPrefix(got.Str, "masked:")) {
				t.Errorf("got %s, want one mask for all of it", got.Text())
			}
			if !got.Deep().Equal(test.in.Deep()) {
				t.Errorf("labels joined are %v, want %v", got.Deep(), test.in.Deep())
			}
			if err := got.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	if again := m.value(value.StringOf(hidden, secret)).Str; again != mask {
		t.Error("one secret has two masks in one run")
	}
	if other := m.value(value.StringOf(hidden+"x", secret)).Str; other == mask {
		t.Error("two secrets have one mask")
	}
	if elsewhere := newMasker().value(leaf).Str; elsewhere == mask {
		t.Error("one secret has one mask in two runs: who can guess it can see that it was right")
	}
}
