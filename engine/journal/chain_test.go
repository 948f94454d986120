package journal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// small returns the events of a short run that has ended, one of them redacted.
func small(t testing.TB) []Event {
	t.Helper()
	s := NewMemory()
	r := beginTest(t, s, "small")
	v := value.StringOf("x", mailLabel)
	if _, err := r.AppendAll(t.Context(), false,
		Entry{Decided, "1.1", decisionOf(1)},
		Entry{CallResult, "1.1", CallEnded{Tool: "mail.send", Value: &v, Label: label.Bottom()}},
		Entry{CallStart, "1.2", CallStarted{Tool: "é<&>\u2028", Key: "\"\\\n"}},
		Entry{RunEnd, "", RunEnded{Status: StatusDone, Counts: map[string]int{"allowed": 1}}},
	); err != nil {
		t.Fatal(err)
	}
	events, err := s.Read(t.Context(), "small", 1)
	if err != nil {
		t.Fatal(err)
	}
	events[2] = events[2].Redact()
	return events
}

func exported(t testing.TB, events []Event) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Export(&b, events); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// check imports and verifies an export of a run that has ended.
func check(text []byte) error {
	events, _, err := Import(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return VerifyWhole(events, "")
}

func TestExportRoundTrip(t *testing.T) {
	events := small(t)
	text := exported(t, events)
	got, _, err := Import(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again := exported(t, got); !bytes.Equal(again, text) {
		t.Errorf("exported again:\n%s\nwant\n%s", again, text)
	}
	if err := VerifyWhole(got, ""); err != nil {
		t.Error(err)
	}
	if !got[2].Redacted() || got[1].Redacted() {
		t.Errorf("redacted: %v and %v, want the third event alone", got[1].Redacted(), got[2].Redacted())
	}
	if _, err := Decode[CallEnded](got[2]); !errors.Is(err, ErrRedacted) {
		t.Errorf("Decode of a redacted payload: %v, want ErrRedacted", err)
	}
	if start, err := Decode[CallStarted](got[3]); err != nil || start.Tool != "é<&>\u2028" {
		t.Errorf("got %+v, %v; want the tool's name as it was", start, err)
	}
	if _, err := Decode[CallEnded](got[3]); err == nil || !strings.Contains(err.Error(), `got a payload of type "call.start", want journal.CallEnded`) {
		t.Errorf("Decode into another type: %v", err)
	}
	if none, _, err := Import(strings.NewReader("")); err != nil || none != nil {
		t.Errorf("Import of nothing = %v, %v", none, err)
	}
}

// Every byte of an export matters.
func TestEveryChangedByteIsFound(t *testing.T) {
	text := exported(t, small(t))
	if err := check(text); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		was := text[i]
		for _, c := range []byte{was ^ 1, was ^ 2, was ^ 0x20, was ^ 0x80, ' ', '"', '0', '\n'} {
			if c == was {
				continue
			}
			text[i] = c
			if check(text) == nil {
				t.Errorf("byte %d changed from %q to %q is not found in …%s…", i, was, c, text[max(0, i-30):min(len(text), i+30)])
			}
		}
		text[i] = was
		if check(slices.Delete(slices.Clone(text), i, i+1)) == nil {
			t.Errorf("byte %d (%q) taken out is not found", i, was)
		}
		if check(slices.Insert(slices.Clone(text), i, ' ')) == nil {
			t.Errorf("a space put in at byte %d is not found", i)
		}
		if check(text[:i]) == nil {
			t.Errorf("cut off at byte %d is not found", i)
		}
	}
}

func TestVerifyNamesTheFirstEventThatIsWrong(t *testing.T) {
	events := small(t)
	edit := func(f func(e []Event) []Event) []Event { return f(slices.Clone(events)) }
	for _, test := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"nothing", nil, "event 1: missing: there are no events"},
		{"the first event dropped", events[1:], "event 1: missing: event 2 stands in its place"},
		{"one dropped in the middle", edit(func(e []Event) []Event { return slices.Delete(e, 2, 3) }), "event 3: missing: event 4 stands in its place"},
		{"the last dropped", events[:4], "event 5: cut off"},
		{"all but the first dropped", events[:1], "event 2: cut off"},
		{"two swapped", edit(func(e []Event) []Event { e[1], e[2] = e[2], e[1]; return e }), "event 2: missing: event 3 stands in its place"},
		{"one twice", edit(func(e []Event) []Event { return slices.Insert(e, 2, e[1]) }), "event 3 (decision): out of order: event 2 stands in its place"},
		{"two swapped and renumbered", edit(func(e []Event) []Event {
			e[1], e[3] = e[3], e[1]
			e[1].Seq, e[3].Seq = 2, 4
			return e
		}), "event 2 (call.start): altered, forged, or not what followed event 1"},
		{"a payload altered", edit(func(e []Event) []Event { e[1].Payload = []byte(`{}`); return e }), "event 2 (decision): altered: the payload does not match its digest"},
		{"a payload put in anew, digest and all", edit(func(e []Event) []Event {
			e[1].Payload = []byte(`{}`)
			e[1].Digest = digestOf(e[1].Salt, e[1].Payload)
			return e
		}), "event 2 (decision): altered, forged"},
		{"an event sealed anew", edit(func(e []Event) []Event { e[1].Payload = []byte(`{}`); e[1] = seal(e[0].Hash, e[1]); return e }), "event 3 (call.result): altered, forged"},
		{"an event forged at the end", edit(func(e []Event) []Event {
			return append(e, Event{Run: "small", Seq: 6, Type: RunEnd, Payload: []byte(`{}`), Salt: strings.Repeat("0", 32), Digest: "x", Hash: "x"})
		}), "event 6 (run.end): altered: the payload"},
		{"a time altered", edit(func(e []Event) []Event { e[3].Time = e[3].Time.Add(1); return e }), "event 4 (call.start): altered, forged"},
		{"a type altered", edit(func(e []Event) []Event { e[3].Type = CallResult; return e }), "event 4 (call.result): altered, forged"},
		{"a call's id altered", edit(func(e []Event) []Event { e[3].Call = "1.3"; return e }), "event 4 (call.start): altered, forged"},
		{"an event of another run", edit(func(e []Event) []Event { e[3].Run = "other"; return e }), "event 4 (call.start): belongs to run other"},
		{"the run renamed", edit(func(e []Event) []Event {
			for i := range e {
				e[i].Run = "other"
			}
			return e
		}), "event 1 (run.start): altered, forged"},
		{"a payload behind a redaction", edit(func(e []Event) []Event { e[2].Payload = []byte(`{}`); return e }), "event 3 (call.result): forged: it has a payload but no salt"},
		{"a salt cut short", edit(func(e []Event) []Event { e[1].Salt = e[1].Salt[:31]; return e }), "event 2 (decision): altered: a salt of 31 characters"},
		{"another digest behind a redaction", edit(func(e []Event) []Event { e[2].Digest = e[1].Digest; return e }), "event 3 (call.result): altered, forged"},
		{"a run without a header", []Event{seal("", Event{Run: "x", Seq: 1, Type: TurnStart, Payload: []byte(`{}`)})}, "event 1 (turn.start): a run begins with run.start"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := VerifyWhole(test.events, "")
			if _, ok := errors.AsType[*ChainError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a ChainError with %q", err, test.want)
			}
		})
	}
}

func TestWhatACutOffEndNeeds(t *testing.T) {
	events := small(t)
	head := events[3].Hash
	if err := Verify(events[:3]); err != nil {
		t.Errorf("a run that may still be going: %v", err)
	}
	if err := VerifyWhole(events[:4], head); err != nil {
		t.Errorf("up to a known head: %v", err)
	}
	if err := VerifyWhole(events[:3], head); err == nil || !strings.Contains(err.Error(), "event 4: cut off") {
		t.Errorf("one event short of a known head: %v", err)
	}
	// Who writes the whole run anew meets no hash but one that was kept elsewhere.
	forged := slices.Clone(events)
	previous := ""
	for i := range forged {
		forged[i].Payload = []byte(`{"schema":1}`)
		forged[i] = seal(previous, forged[i])
		previous = forged[i].Hash
	}
	if err := VerifyWhole(forged, ""); err != nil {
		t.Errorf("a run forged as a whole: got %v; the specification says that this is not found", err)
	}
	if err := VerifyWhole(forged, events[4].Hash); err == nil {
		t.Error("a run forged as a whole passes for the one whose head is known")
	}
}

func TestAnyEventMayBeRedacted(t *testing.T) {
	events := small(t)
	for i := range events {
		events[i] = events[i].Redact()
		if err := check(exported(t, events)); err != nil {
			t.Errorf("event %d redacted: %v", i+1, err)
		}
	}
	for _, store := range stores {
		s := store.open(t)
		if err := s.Append(t.Context(), events, true); err != nil {
			t.Fatalf("%s: %v", store.name, err)
		}
		got, err := s.Read(t.Context(), "small", 1)
		if err == nil {
			err = VerifyWhole(got, "")
		}
		if err != nil || len(got) != 5 || got[0].Payload != nil {
			t.Errorf("%s: %d events back, %v", store.name, len(got), err)
		}
		if infos, err := s.Runs(t.Context(), 0); err != nil || infos[0].Status != statusUnknown || infos[0].Head != events[4].Hash {
			t.Errorf("%s: Runs = %+v, %v; want an unknown status", store.name, infos, err)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	line := string(exported(t, small(t)[:1]))
	for _, test := range []struct{ name, in, want string }{
		{"a last line without its end", strings.TrimSuffix(line, "\n"), "line 1: cut off"},
		{"an empty line", line + "\n", "line 2: unexpected end of JSON input"},
		{"spaces between", strings.Replace(line, `"seq":1`, `"seq": 1`, 1), "line 1: not as it was exported"},
		{"a field that means nothing", strings.Replace(line, `{`, `{"extra":1,`, 1), "line 1: not as it was exported"},
		{"a field twice", strings.Replace(line, `"seq":1`, `"seq":2,"seq":1`, 1), "line 1: not as it was exported"},
		{"a field in capitals", strings.Replace(line, `"seq"`, `"Seq"`, 1), "line 1: not as it was exported"},
		{"another time zone", strings.Replace(line, `Z","type"`, `+00:00","type"`, 1), "line 1: not as it was exported"},
		{"text", "hello\n", "line 1: invalid character"},
		{"a line without end", strings.Repeat("x", maxLine+1), fmt.Sprintf("line 1: longer than %d bytes", maxLine)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if events, _, err := Import(strings.NewReader(test.in)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %d events, %v; want an error with %q", len(events), err, test.want)
			}
		})
	}
}
