package journal

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// exportOf returns the export of a run of a journal that has others, and the key that verifies it.
func exportOf(t testing.TB, entries ...Entry) ([]byte, Evidence) {
	t.Helper()
	s := openTest(t)
	history(t, s)
	if _, err := beginTest(t, s, "x").AppendAll(t.Context(), true, entries...); err != nil {
		t.Fatal(err)
	}
	return exportRuns(t, s, "x"), asKeyed(t, s)
}

// exportRuns writes runs with their proof.
func exportRuns(t testing.TB, s Store, runs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, run := range runs {
		events, err := s.Read(t.Context(), run, 1)
		if err == nil {
			err = Export(&b, events)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	proof, err := Proof(t.Context(), s, runs...)
	if err == nil {
		err = ExportLedger(&b, proof)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// likeInvoices are the entries of a run of the size of the invoices example: 126 events, 340 kB.
func likeInvoices() []Entry {
	body := value.StringOf(strings.Repeat("Please pay what we agreed <on> & \"signed\". ", 60), mailLabel)
	var out []Entry
	for n := range 41 {
		id := fmt.Sprintf("1.%d", n+1)
		d := decisionOf(n)
		d.Args = append(d.Args, Argument{Name: "text", Value: body})
		out = append(out, Entry{Decided, id, d}, Entry{CallStart, id, CallStarted{Tool: "mail.read", Key: fmt.Sprint(n)}}, Entry{CallResult, id, CallEnded{Tool: "mail.read", Value: &body, Label: mailLabel}})
	}
	answer := value.StringOf("paid", label.Bottom())
	return append(out, Entry{ProgramEnd, "", ProgramEnded{Turn: 1, Status: "ok"}}, Entry{RunEnd, "", RunEnded{Status: StatusDone, Answer: &answer}})
}

// auditText imports and verifies an export, as somebody would who has the public key only.
func auditText(text []byte, e Evidence) error {
	events, ledger, err := Import(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if report := AuditCopy(events, ledger, e); len(report.Problems) > 0 {
		return fmt.Errorf("%v", report.Problems)
	}
	return nil
}

// Each run of an export of several needs its own checkpoint: none covers the lines that are not there.
func TestEachRunOfAnExportIsProved(t *testing.T) {
	s := openTest(t)
	history(t, s)
	evidence := asKeyed(t, s)
	text := exportRuns(t, s, "r4", "r1", "r2")
	if err := auditText(text, evidence); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1]
	for i := range lines {
		if auditText(slices.Concat(slices.Concat(lines[:i]...), slices.Concat(lines[i+1:]...)), evidence) == nil {
			t.Errorf("line %d dropped: not found", i+1)
		}
	}
}

func TestEventsDroppedExchangedAndCutOffAreFound(t *testing.T) {
	text, evidence := exportOf(t, likeInvoices()...)
	if err := auditText(text, evidence); err != nil || len(text) < 300_000 {
		t.Fatalf("undamaged, %d bytes: %v", len(text), err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1]
	try := func(what string, changed ...[]byte) {
		if auditText(slices.Concat(changed...), evidence) == nil {
			t.Errorf("%s: not found", what)
		}
	}
	for i, line := range lines {
		if testing.Short() && i%9 > 0 && i < len(lines)-5 {
			continue
		}
		before, after := slices.Concat(lines[:i]...), slices.Concat(lines[i+1:]...)
		try(fmt.Sprintf("line %d dropped", i+1), before, after)
		try(fmt.Sprintf("line %d twice", i+1), before, line, line, after)
		try(fmt.Sprintf("cut off before line %d", i+1), before)
		try(fmt.Sprintf("cut off within line %d", i+1), before, line[:len(line)/2])
		try(fmt.Sprintf("cut off at the end of line %d", i+1), before, line[:len(line)-1])
		if i+1 < len(lines) {
			try(fmt.Sprintf("lines %d and %d exchanged", i+1, i+2), before, lines[i+1], line, slices.Concat(lines[i+2:]...))
		}
	}
}

// A byte that was changed changes its line, or joins it with the next one; so it is enough to read the line, and to
// verify what is read between its neighbours.
func TestEveryChangedByteOfAWholeRunIsFound(t *testing.T) {
	text, evidence := exportOf(t, likeInvoices()...)
	events, _, err := Import(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines = lines[:len(lines)-1]
	found := func(i int, line []byte) bool {
		if bytes.HasPrefix(lines[i], []byte(`{"run"`)) {
			e, err := importEvent(line)
			return err != nil || verifyNext(events[:i], e) != nil
		}
		// Lines of the ledger and checkpoints are few: all is read again.
		return auditText(slices.Concat(slices.Concat(lines[:i]...), line, slices.Concat(lines[i+1:]...)), evidence) != nil
	}
	stride := 1
	if testing.Short() {
		stride = 41
	}
	var wg sync.WaitGroup
	each := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range each {
				line := slices.Clone(lines[i])
				for at := i % stride; at < len(line); at += stride {
					was := line[at]
					line[at] ^= 1 << (at % 7)
					if line[at] == '\n' || was == '\n' {
						if auditText(slices.Concat(slices.Concat(lines[:i]...), line, slices.Concat(lines[i+1:]...)), evidence) == nil {
							t.Errorf("line %d: a line's end changed at byte %d is not found", i+1, at)
						}
					} else if !found(i, line) {
						t.Errorf("line %d: byte %d changed from %q to %q is not found", i+1, at, was, line[at])
					}
					line[at] = was
				}
			}
		})
	}
	for i := range lines {
		each <- i
	}
	close(each)
	wg.Wait()
}
