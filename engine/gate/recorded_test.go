package gate

import (
	"slices"
	"strings"
	"testing"

	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/policies"
)

func TestRebuild(t *testing.T) {
	r := newRig(t, nil)
	r.pdp.decide = func(q *policies.Request) (policies.Decision, error) {
		switch {
		case q.Call.Tool == "mail.send":
			return denial("p.no"), nil
		case q.Call.ID == "1.1":
			return allowing(oblige(policies.ObligeMark, map[string]any{"name": "read-mail"})), nil
		}
		return allowing(), nil
	}
	r.do(read("1.1"))
	r.do(send("1.2", "hello"))
	r.do(call("1.3", "shell.run")) // exists, and is not granted
	r.do(call("1.4", "mail.read")) // lacks an argument: nothing is decided
	r.Do(t.Context(), []eval.Call{read("1.5"), read("1.6")})
	r.do(send("1.7", "again"))
	events, err := r.store.Read(t.Context(), "run", 1)
	if err != nil {
		t.Fatal(err)
	}
	past, err := Rebuild(events, r.cfg.Tools)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	own := map[string]bool{}
	for _, p := range past {
		calls = append(calls, p.Call)
		own[p.Call] = p.Own
		if p.Request.Call.ID != p.Call || p.Request.Principal.Sub != "" || p.Request.Session.Run != "run" {
			t.Errorf("%s: request %+v", p.Call, p.Request.Call)
		}
	}
	if want := []string{"1.1", "1.2", "1.3", "1.5", "1.6", "1.7"}; !slices.Equal(calls, want) {
		t.Fatalf("calls %v, want %v", calls, want)
	}
	for call, is := range own {
		if is != (call == "1.3") {
			t.Errorf("%s: Own is %v", call, is)
		}
	}
	// What policies were asked then, they are asked again.
	asked := map[string]policies.Request{}
	for _, q := range r.pdp.requests {
		asked[q.Call.ID] = q
	}
	for _, p := range past {
		want, ok := asked[p.Call]
		if !ok {
			continue
		}
		if got := p.Request.History; got.Count["mail.read"] != want.History.Count["mail.read"] || !slices.Equal(got.Marks, want.History.Marks) {
			t.Errorf("%s: history %v %v, want %v %v", p.Call, got.Count, got.Marks, want.History.Count, want.History.Marks)
		}
		if len(p.Request.Leaves) != len(want.Leaves) || !slices.EqualFunc(p.Request.Leaves, want.Leaves, func(a, b policies.Leaf) bool {
			return a.Path == b.Path && a.Value == b.Value && a.Sink == b.Sink && a.Norm == b.Norm && a.Label.Equal(b.Label)
		}) {
			t.Errorf("%s: leaves\n%+v\nwant\n%+v", p.Call, p.Request.Leaves, want.Leaves)
		}
	}
	if got := past[5].Request.History; got.Count["mail.read"] != 3 || !slices.Equal(got.Marks, []string{"read-mail"}) {
		t.Errorf("1.7: history %+v, want three mails read, and the mark", got)
	}

	// Without the tool its sinks are those of the arguments that the journal has, and that is said.
	past, err = Rebuild(events, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := past[1].Request.Leaves[0]; l.Sink != policies.SinkRecipient || len(past[1].Notes) != 1 || !strings.Contains(past[1].Notes[0], "not granted today") {
		t.Errorf("1.2: leaf %+v, notes %q", l, past[1].Notes)
	}

	// What was redacted is left out; without its start there is no run.
	for i, e := range events {
		if e.Type == journal.Decided && e.Call == "1.2" {
			events[i] = e.Redact()
		}
	}
	if past, err = Rebuild(events, nil); err != nil || len(past) != 5 {
		t.Errorf("%d decisions, error %v, want the five that are not redacted", len(past), err)
	}
	if _, err = Rebuild(events[1:], nil); err == nil || !strings.Contains(err.Error(), "without its start") {
		t.Errorf("without the start: %v", err)
	}
}
