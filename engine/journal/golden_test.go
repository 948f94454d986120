package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

var write = flag.Bool("write-golden", false, "write the golden journal of this version anew, instead of reading it")

const (
	goldenLines = "testdata/v1.jsonl"
	goldenFile  = "testdata/v1.db"
	goldenHead  = "testdata/v1.head" // the hash of the last event
)

// golden is a run with an event of every type. What it says is read by every later version.
func golden() []Entry {
	answer := value.StringOf("paid 2 of 3", label.New(label.Internal, label.Only("ana"), nil, label.Source{Tool: "sql.query", Of: "orders"}))
	paid := value.DictOf(label.Bottom(), value.Field{Name: "receipt", Of: value.StringOf("r-1", label.New(label.Internal, label.Public(), nil, label.Source{Tool: "bank.pay", Of: "corp"}))})
	return []Entry{
		{RunStart, "", RunStarted{
			Language: "1", Agent: "inbox", Digest: "sha256:00", Principal: policies.Principal{Sub: "ana", Groups: []string{"finance"}},
			Mode: "react", Revision: "sha256:01", Tools: []string{"bank.pay", "mail.read"}, Limits: map[string]int64{"steps": 5_000_000},
			Inputs: []Input{{"task", value.StringOf("pay what agrees", label.New(label.User, label.Only("ana"), nil, label.Source{Tool: "prompt"}))}},
		}},
		{TurnStart, "", TurnStarted{Turn: 1, File: "turn1.star", Program: "bank.pay(order = 1)\n", Author: label.New(label.User, label.Only("ana"), nil)}},
		{ModelReply, "", ModelReplied{Turn: 1, Provider: "recorded", Model: "m", Text: "I pay.", Context: label.New(label.User, label.Only("ana"), nil), Tokens: [2]int64{100, 7}}},
		{Decided, "1.1", DecisionMade{
			Kind: "tool", Tool: "bank.pay", PC: label.Bottom(), Program: label.New(label.User, label.Only("ana"), nil), Effects: []string{"write"}, Binding: "sha256:02",
			Args:     []Argument{{"iban", value.StringOf("DE00", mailLabel), "account"}, {"amount", value.IntOf(120, label.Bottom()), ""}},
			Site:     policies.Site{File: "turn1.star", Line: 1, Column: 1},
			Decision: policies.Decision{Effect: policies.Ask, Would: policies.Ask, Time: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), Reasons: []policies.Reason{{ID: "payments.large", Policy: "payments", Effect: policies.Ask, Engine: "cel", Args: []string{"amount"}}}},
			Origins:  map[string]string{"iban": "mail.read 04.eml"},
		}},
		{Reloaded, "1.1", PoliciesReloaded{From: "sha256:01", Revision: "sha256:01", Problems: []string{"p.rego:3: unexpected eof token"}}},
		{Approved, "1.1", ApprovalGiven{Ask: "payments.large", Binding: "sha256:02", By: "bob", Verdict: "approved", Reason: "known"}},
		{Granted, "", GrantGiven{
			ID: "g1", Verdict: "approved", Run: "golden", Call: "1.1", Ask: "payments.large", Policy: "payments", Binding: "sha256:02", By: "bob", Groups: []string{"finance"},
			Login: "bob", Reason: "known", Expires: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), Unseen: []string{"iban"},
			Scope: &Scope{
				Kind: "value", Agent: "inbox", Digest: "sha256:00", Principal: "ana", Of: "tool", Tool: "bank.pay", PC: label.Bottom(),
				Args: []ScopedArg{{Name: "iban", Label: mailLabel, Value: &answer}, {Name: "amount", Label: label.Bottom(), Match: "12*"}},
			},
		}},
		{CallStart, "1.1", CallStarted{Tool: "bank.pay", Key: "k-1"}},
		{CallResult, "1.1", CallEnded{Tool: "bank.pay", Value: &paid, Label: label.Bottom(), Duration: 3 * time.Millisecond}},
		{Endorsed, "1.2", EndorsementMade{Kind: "endorse", Type: "bool", Bits: 1, Left: 63, From: mailLabel, To: label.New(label.Internal, label.Only("ana"), nil), Why: "amounts agree"}},
		{Observation, "1.3", Observed{Name: "mail", Shown: true, Text: "Dear all", Label: mailLabel, Context: mailLabel, Rules: []string{"observe.reveal"}}},
		{ProgramEnd, "", ProgramEnded{Turn: 1, Status: "ok", Label: label.Bottom(), Floor: label.Bottom(), Steps: 42, Peak: 4096, Calls: 3, Duration: time.Second, Permits: map[string]int64{"len": 2}}},
		{RunEnd, "", RunEnded{Status: StatusDone, Answer: &answer, Counts: map[string]int{"allowed": 1, "asked": 1}}},
	}
}

// TestTheJournalOfVersion1IsRead reads what version 1 wrote, and finds in it what was recorded.
func TestTheJournalOfVersion1IsRead(t *testing.T) {
	if *write {
		writeGolden(t)
	}
	head, err := os.ReadFile(goldenHead)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.Open(goldenLines)
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	exported, _, err := Import(lines)
	if err != nil {
		t.Fatal(err)
	}
	// The database is read from a copy: reading it makes files beside it.
	db, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stored, err := s.Read(t.Context(), "golden", 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, events := range map[string][]Event{goldenLines: exported, goldenFile: stored} {
		if err := VerifyWhole(events, string(bytes.TrimSpace(head))); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		met := map[Type]bool{}
		for i, want := range golden() {
			e := events[i]
			met[e.Type] = true
			if e.Type != want.Type || e.Call != want.Call {
				t.Errorf("%s: event %d is %s %q, want %s %q", name, i+1, e.Type, e.Call, want.Type, want.Call)
				continue
			}
			// What it says today must be what it said then, but for fields that were added.
			then, now := asMap(t, e.Payload), asMap(t, decoded(t, e))
			for field, was := range then {
				if !reflect.DeepEqual(now[field], was) {
					t.Errorf("%s: event %d (%s): %s is read as %v, want %v", name, i+1, e.Type, field, now[field], was)
				}
			}
		}
		if len(met) != len(payloads) {
			t.Errorf("%s has %d types of event, want all %d: write the golden journal anew if one was added before a release", name, len(met), len(payloads))
		}
	}
}

// decoded reads a payload into its Go type and encodes it again.
func decoded(t *testing.T, e Event) []byte {
	t.Helper()
	p := reflect.New(payloads[e.Type])
	if err := unmarshal(e, p.Interface()); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p.Elem().Interface())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func asMap(t *testing.T, b []byte) map[string]any {
	t.Helper()
	v, err := value.FromJSON(b, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	return v.Plain().(map[string]any)
}

func writeGolden(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.MkdirAll("testdata", 0o755), os.RemoveAll(goldenFile)); err != nil {
		t.Fatal(err)
	}
	s, err := Open(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	r, err := Begin(t.Context(), s, "golden", Options{Now: func() time.Time { clock = clock.Add(1500 * time.Microsecond); return clock }})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range golden() {
		if _, err := r.Append(t.Context(), e.Type, e.Call, e.Payload, false); err != nil {
			t.Fatal(err)
		}
	}
	events, err := s.Read(t.Context(), "golden", 1)
	if err != nil {
		t.Fatal(err)
	}
	_, head := r.Head()
	err = errors.Join(s.Close(), os.WriteFile(goldenLines, exported(t, events), 0o644), os.WriteFile(goldenHead, []byte(head+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
