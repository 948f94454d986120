package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
)

// decision is an entry for a call of one argument.
func decision(call, tool string, effect policies.Effect, rule, effectOnWorld string, arg value.Value) journal.Entry {
	return journal.Entry{Type: journal.Decided, Call: call, Payload: journal.DecisionMade{
		Kind: policies.KindTool, Tool: tool, Args: []journal.Argument{{Name: "to", Value: arg}}, PC: label.New(label.User, label.Public(), nil),
		Effects: []string{effectOnWorld}, Decision: policies.Decision{Effect: effect, Would: effect, Reasons: []policies.Reason{{ID: rule, Effect: effect}}},
	}}
}

func gave(call, tool string, v value.Value) journal.Entry {
	return journal.Entry{Type: journal.CallResult, Call: call, Payload: journal.CallEnded{Tool: tool, Value: &v, Label: v.Label}}
}

func ended(status string) journal.Entry {
	return journal.Entry{Type: journal.RunEnd, Payload: journal.RunEnded{Status: status}}
}

// record records a run at a time.
func record(t testing.TB, s journal.Store, id string, at time.Time, entries ...journal.Entry) {
	t.Helper()
	r, err := journal.Begin(t.Context(), s, id, journal.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.AppendAll(t.Context(), false, entries...); err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func started(agent, sub string) journal.Entry {
	return journal.Entry{Type: journal.RunStart, Payload: journal.RunStarted{Agent: agent, Principal: policies.Principal{Sub: sub}}}
}

// TestFilter holds each flag, and their combinations, to the runs and calls that they are to find.
func TestFilter(t *testing.T) {
	store := journal.NewMemory()
	user := label.New(label.User, label.Public(), nil)
	mail := label.New(label.Untrusted, label.Only("ana"), []string{"pii"}, label.Source{Tool: "mail.read", Of: "4.eml", Field: "body"})
	record(t, store, "r1", noon.Add(-72*time.Hour), started("inbox", "ana"),
		decision("1.1", "mail.read", policies.Allow, "base.read", "read", value.StringOf("4.eml", user)), gave("1.1", "mail.read", value.StringOf("hello", mail)),
		decision("1.2", "mail.send", policies.Deny, "mail.unknown-recipient", "egress", value.StringOf("eve", mail)), ended("denied"))
	record(t, store, "r2", noon.Add(-2*time.Hour), started("inbox", "bob"),
		decision("1.1", "mail.send", policies.Ask, "mail.colleague", "egress", value.StringOf("bob", user)),
		journal.Entry{Type: journal.Approved, Call: "1.1", Payload: journal.ApprovalGiven{Ask: "mail.colleague", By: "carla", Verdict: "approved"}},
		decision("1.1", "mail.send", policies.Allow, "mail.colleague", "egress", value.StringOf("bob", user)), ended("done"))
	record(t, store, "r3", noon.Add(-time.Minute), started("books", "ana"),
		decision("2.1", "files.write", policies.Allow, "base.write", "write", value.StringOf("x", user)))
	record(t, store, "r4", noon, started("quoted\"agent", "ana"),
		decision("1.1", "files.read", policies.Allow, "base.read", "read", value.StringOf(`{"trust":"untrusted","tool":"mail.send"}`, user)), ended("failed"))
	record(t, store, "r5", noon.Add(-100*24*time.Hour), started("old", "dan"), decision("1.1", "files.read", policies.Allow, "base.old", "read", value.StringOf("x", label.Top())))
	for _, test := range []struct {
		flags string
		want  string
	}{
		{"", "r5 r4 r3 r2 r1"},
		{"--agent inbox", "r2 r1"},
		{"--agent inb* --agent books", "r3 r2 r1"},
		{"--agent inbo", ""},
		{"--status denied --status running", "r5 r3 r1"},
		{"--since 2h", "r4 r3 r2"},
		{"--since 1h59m", "r4 r3"},
		{"--until 2h", "r5 r1"},
		{"--since 3d --until 1d", "r1"},
		{"--since 2w", "r4 r3 r2 r1"},
		{"--since 2026-12-01T12:00:00Z", "r4"},
		{"--person ana", "r4 r3 r1"},
		{"--person carla", "r2"},
		{"--person c*", "r2"},
		{"--tool mail.send", "r2(1.1) r1(1.2)"},
		{"--tool mail.* --decision allow", "r2(1.1) r1(1.1)"},
		{"--tool mail.send --decision deny", "r1(1.2)"},
		{"--tool mail.read --decision deny", ""},
		{"--tool mail.send --person ana", "r1(1.2)"},
		{"--effect egress --effect write", "r3(2.1) r2(1.1) r1(1.2)"},
		{"--decision ask", "r2(1.1)"},
		{"--rule mail.colleague", "r2(1.1)"},
		{"--rule base.*", "r5(1.1) r4(1.1) r3(2.1) r1(1.1)"},
		{"--label untrusted", "r5(1.1) r1(1.1,1.2)"},
		{"--label untrusted --tool mail.send", "r1(1.2)"},
		{"--label reader=ana", "r1(1.1,1.2)"},
		{"--label reader=a*", "r1(1.1,1.2)"},
		{"--label tag=pii --decision allow", "r5(1.1) r1(1.1)"},
		{"--label tag=p*", "r5(1.1) r1(1.1,1.2)"},
		{"--label tag=other", "r5(1.1)"},
		{"--label source=mail.read", "r1(1.1,1.2)"},
		{"--label source=mail.read:4.eml", "r1(1.1,1.2)"},
		{"--label source=*:body", "r1(1.1,1.2)"},
		{"--label source=mail.read:5.eml", ""},
		{"--label source=mail.send", ""},
		{"--label system", ""},
		{"--limit 1 --tool mail.send", "r2(1.1)"},
	} {
		var pick filter
		limit := count()
		cmd := (&command{}).listVerb()
		cmd.ResetFlags()
		pick.add(cmd, noon)
		cmd.Flags().Var(limit, "limit", "")
		if err := cmd.ParseFlags(strings.Fields(test.flags)); err != nil {
			t.Errorf("%s: %v", test.flags, err)
			continue
		}
		pick.prepare()
		var got []string
		err := picked(t.Context(), store, &pick, int(limit.value), new(looking), func([]journal.RunInfo) {}, func(r listed) error {
			name := r.ID
			if len(r.Calls) > 0 {
				name += "(" + strings.Join(r.Calls, ",") + ")"
			}
			got = append(got, name)
			return nil
		})
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%q: got %v, %v, want %q", test.flags, got, err, test.want)
		}
	}
}

func TestFits(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "a", true}, {"*a", "ba", true}, {"a*a", "a", false},
		{"a*a", "aa", true}, {"a*b*c", "a.b.b.c", true}, {"a*b*c", "a.c.b", false}, {"**", "x", true}, {"", "", true}, {"", "x", false},
	} {
		if got := fits(test.pattern, test.name); got != test.want {
			t.Errorf("fits(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}

// What takes longer than a second is told of, and taken away again.
func TestLooking(t *testing.T) {
	var out strings.Builder
	now := noon
	p := &looking{w: &out, now: func() time.Time { return now }}
	for i := range 20 {
		if err := p.at(i, 20, 1); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Millisecond)
	}
	if err := p.done(); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, n := range []int{10, 12, 14, 16, 18} {
		want += fmt.Sprintf("\r\x1b[Kcallgate: read %d of 20 runs, 1 found", n)
	}
	if want += "\r\x1b[K"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// BenchmarkList looks through 1,000 runs of 40 events: for what is in none of them, and for what is in the decisions and labels of all.
func BenchmarkList(b *testing.B) {
	store, err := journal.Open(filepath.Join(b.TempDir(), journalFile))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	mail := label.New(label.Untrusted, label.Only("ana"), nil, label.Source{Tool: "mail.read", Of: "4.eml", Field: "body"})
	entries := []journal.Entry{started("inbox", "ana")}
	for i := range 19 {
		call := fmt.Sprintf("1.%d", i)
		v := value.StringOf(strings.Repeat("text ", 100), mail)
		entries = append(entries, decision(call, "mail.read", policies.Allow, "base.read", "read", v), gave(call, "mail.read", v))
	}
	entries = append(entries, ended("done"))
	for i := range 1000 {
		record(b, store, fmt.Sprintf("r%d", i), noon, entries...)
	}
	for _, flags := range []string{"--agent none", "--tool none", "--tool mail.read", "--label system", "--label reader=ana"} {
		b.Run(flags, func(b *testing.B) {
			var pick filter
			cmd := (&command{}).listVerb()
			cmd.ResetFlags()
			pick.add(cmd, noon)
			if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
				b.Fatal(err)
			}
			pick.prepare()
			for b.Loop() {
				if err := picked(context.Background(), store, &pick, 0, new(looking), func([]journal.RunInfo) {}, func(listed) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/run")
		})
	}
}
