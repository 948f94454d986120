package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

func TestTell(t *testing.T) {
	s := NewMemory()
	if past, err := Desk(t.Context(), s); err != nil || past != nil {
		t.Fatalf("before anybody says anything: %v, %v", past, err)
	}
	secret := value.StringOf("hunter2", label.New(label.User, label.Public(), []string{SecretTag}))
	for i := range 3 {
		e, err := Tell(t.Context(), s, Options{}, func(past []Event) (GrantGiven, error) {
			return GrantGiven{ID: fmt.Sprint("g", len(past)), Scope: &Scope{Args: []ScopedArg{{Name: "key", Value: &secret}}}}, nil
		})
		if err != nil || e.Seq != int64(i+2) || e.Type != Granted {
			t.Fatalf("event %+v, %v", e, err)
		}
		g, err := Decode[GrantGiven](e)
		if err != nil || g.Scope.Args[0].Value.Str == "hunter2" {
			t.Errorf("the desk has %+v, %v: a secret", g, err)
		}
	}
	no := errors.New("no")
	if _, err := Tell(t.Context(), s, Options{}, func([]Event) (GrantGiven, error) { return GrantGiven{}, no }); !errors.Is(err, no) {
		t.Errorf("got %v, want what the caller says", err)
	}
	past, err := Desk(t.Context(), s)
	if err != nil || len(past) != 4 || past[0].Type != RunStart {
		t.Errorf("the desk has %d events, %v", len(past), err)
	}
}

// Somebody who is quicker is not overwritten: what is said is made of what they left.
func TestTellAfterSomebodyElse(t *testing.T) {
	s := NewMemory()
	tries := 0
	e, err := Tell(t.Context(), s, Options{}, func(past []Event) (GrantGiven, error) {
		if tries++; tries < 3 {
			if _, err := Tell(t.Context(), s, Options{}, func([]Event) (GrantGiven, error) { return GrantGiven{ID: "theirs"}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		return GrantGiven{ID: fmt.Sprint(len(past))}, nil
	})
	if err != nil || tries != 3 || e.Seq != 4 {
		t.Errorf("got %+v, %v after %d tries", e, err, tries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Tell(ctx, s, Options{}, func([]Event) (GrantGiven, error) {
		if _, err := Tell(t.Context(), s, Options{}, func([]Event) (GrantGiven, error) { return GrantGiven{}, nil }); err != nil {
			t.Fatal(err)
		}
		cancel()
		return GrantGiven{}, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it is given up", err)
	}
}
