package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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

// The files of the golden journal of a version are testdata/vN.db, an export of its run golden in testdata/vN.jsonl, and the
// key that verifies it in testdata/vN.pub; of version 1, which signed nothing, the hash of the last event in testdata/v1.head.
// When the version is raised, the files of the former one stay as they are.
func goldenFile(version int, kind string) string {
	return fmt.Sprintf("testdata/v%d.%s", version, kind)
}

// golden is a run with an event of every type. What it says is read by every later version.
func golden() []Entry {
	answer := value.StringOf("paid 2 of 3", label.New(label.Internal, label.Only("ana"), nil, label.Source{Tool: "sql.query", Of: "orders"}))
	paid := value.DictOf(label.Bottom(), value.Field{Name: "receipt", Of: value.StringOf("r-1", label.New(label.Internal, label.Public(), nil, label.Source{Tool: "bank.pay", Of: "corp"}))})
	return []Entry{
		{RunStart, "", RunStarted{
			Language: "1", Agent: "inbox", Digest: "sha256:00", Principal: policies.Principal{Sub: "ana", Groups: []string{"finance"}},
			Mode: "react", Revision: "sha256:01", Tools: []string{"bank.pay", "mail.read"}, Limits: map[string]int64{"steps": 5_000_000},
			Inputs: []Input{{Name: "task", Typed: true, Value: value.StringOf("pay what agrees", label.New(label.User, label.Only("ana"), nil, label.Source{Tool: "prompt"}))}},
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
		{Resumed, "", RunResumed{By: "ana", Process: "4711", After: "1.3", Events: 11, Changed: []string{"policies"}}},
		{RunEnd, "", RunEnded{Status: StatusDone, Answer: &answer, Counts: map[string]int{"allowed": 1, "asked": 1}}},
	}
}

// TestTheJournalOfEachVersionIsRead reads and verifies what each version wrote, and finds in it what was recorded.
func TestTheJournalOfEachVersionIsRead(t *testing.T) {
	if *write {
		writeGolden(t)
	}
	for version := 1; version <= Schema; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			text, err := os.ReadFile(goldenFile(version, "jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			exported, ledger, err := Import(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			// The database is read from a copy: reading it makes files beside it.
			db, err := os.ReadFile(goldenFile(version, "db"))
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
			var evidence Evidence
			if version == 1 {
				head, err := os.ReadFile(goldenFile(version, "head"))
				if err := errors.Join(err, VerifyWhole(exported, string(bytes.TrimSpace(head)))); err != nil {
					t.Error(err)
				}
			} else {
				pub, err := os.ReadFile(goldenFile(version, "pub"))
				if err != nil {
					t.Fatal(err)
				}
				if evidence.Key, err = ParseKey(pub); err != nil {
					t.Fatal(err)
				}
				if report := AuditCopy(exported, ledger, evidence); len(report.Problems) > 0 || report.Signed == 0 {
					t.Errorf("the export: %+v", report)
				}
			}
			report, err := Audit(t.Context(), s, evidence)
			if err != nil || len(report.Problems) > 0 {
				t.Errorf("the database: %+v, %v", report, err)
			}
			for name, events := range map[string][]Event{"export": exported, "database": stored} {
				met := map[Type]bool{}
				for _, e := range events {
					met[e.Type] = true
					// What it says today must be what it said then, but for fields that were added.
					then, now := asMap(t, e.Payload), asMap(t, decoded(t, e))
					for field, was := range then {
						if !reflect.DeepEqual(now[field], was) {
							t.Errorf("%s: event %d (%s): %s is read as %v, want %v", name, e.Seq, e.Type, field, now[field], was)
						}
					}
				}
				if version == Schema && len(met) != len(payloads) {
					t.Errorf("%s has %d types of event, want all %d: write the golden journal anew if one was added before a release", name, len(met), len(payloads))
				}
			}
		})
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

// writeGolden writes the golden journal of this version: a run with an event of every type, another one that waited,
// was resumed, was refused and ended, and one that goes on.
func writeGolden(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	o := Options{Now: func() time.Time { clock = clock.Add(1500 * time.Microsecond); return clock }}
	put := func(r *Run, entries ...Entry) {
		for _, e := range entries {
			if _, err := r.Append(t.Context(), e.Type, e.Call, e.Payload, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin := func(id string) *Run {
		r, err := Begin(t.Context(), s, id, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := golden()
	put(begin("open"), all[:3]...)
	waits := Entry{RunEnd, "", RunEnded{Status: StatusWaiting, Exit: 5, Counts: map[string]int{"asked": 1}}}
	refused := DecisionMade{Kind: "tool", Tool: "bank.pay", Decision: policies.Decision{Effect: policies.Deny, Would: policies.Deny, Reasons: []policies.Reason{{ID: "flow", Effect: policies.Deny, Engine: "flow"}}}}
	put(begin("waits"), all[0], all[1], waits)
	resumed, _, err := Resume(t.Context(), s, "waits", o)
	if err != nil {
		t.Fatal(err)
	}
	put(resumed, Entry{Decided, "1.1", refused}, Entry{RunEnd, "", RunEnded{Status: StatusDenied, Exit: 3, Counts: map[string]int{"denied": 1}}})
	put(begin("golden"), all...)
	lines := exportRuns(t, s, "golden")
	key, err := s.PublicKey()
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := os.ReadFile(path)
	err = errors.Join(err, os.WriteFile(goldenFile(Schema, "db"), db, 0o644), os.WriteFile(goldenFile(Schema, "jsonl"), lines, 0o644),
		os.WriteFile(goldenFile(Schema, "pub"), []byte(KeyText(key)+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}
