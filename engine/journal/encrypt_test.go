package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"

	"filippo.io/age"
)

// pair returns an age recipient and its identity, as a file has it.
func pair(t testing.TB) (recipient, identity string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Recipient().String(), "# made by a test\n" + id.String() + "\n"
}

// keysFor returns keys that encrypt to a recipient and open with an identity; "" is neither.
func keysFor(t testing.TB, recipient, identity string) *Keys {
	t.Helper()
	var to []string
	var own io.Reader
	if recipient != "" {
		to = []string{recipient}
	}
	if identity != "" {
		own = strings.NewReader(identity)
	}
	k, err := NewKeys(to, own)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// user is a store whose keys can be set.
type user interface {
	Store
	Use(*Keys)
}

const plaintext = "gingerbread"

// tellEncrypted has a run with the plaintext in all of its events; it waits in the end.
func tellEncrypted(t testing.TB, s Store, run string) []Event {
	t.Helper()
	r, err := Begin(t.Context(), s, run, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data := value.StringOf(plaintext, label.Bottom())
	var out []Event
	r.Watch(func(e Event) { out = append(out, e) })
	for _, in := range []Entry{
		{RunStart, "", RunStarted{Agent: "baker", Inputs: []Input{{Name: "recipe", Value: data}}}},
		{TurnStart, "", TurnStarted{Turn: 1, Program: plaintext, Author: label.Bottom()}},
		{CallStart, "1.1", CallStarted{Tool: plaintext}},
		{CallResult, "1.1", CallEnded{Value: &data, Label: label.Bottom()}},
		{RunEnd, "", RunEnded{Status: StatusWaiting, Reason: plaintext}},
	} {
		if _, err := r.Append(t.Context(), in.Type, in.Call, in.Payload, false); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestAnEncryptedRunIsReadWithAnIdentityAlone(t *testing.T) {
	to, own := pair(t)
	_, other := pair(t)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t).(user)
			s.Use(keysFor(t, to, ""))
			for i, e := range tellEncrypted(t, s, "x") {
				if p, err := e.Plain(); err != nil || !bytes.Contains(p, []byte(plaintext)) {
					t.Errorf("event %d, to who watches: %s, %v", i+1, p, err)
				}
			}
			for _, test := range []struct {
				name string
				keys *Keys
				want string // in the error; "": it is read
			}{
				{"no keys", nil, to + ", and no identity is given"},
				{"the recipient", keysFor(t, to, ""), to + ", and no identity is given"},
				{"another identity", keysFor(t, to, other), "the identity that is given is another"},
				{"the identity", keysFor(t, "", own), ""},
				{"one of two identities", keysFor(t, "", other+own), ""},
			} {
				s.Use(test.keys)
				for from := int64(1); from <= 5; from++ {
					events, err := s.Read(t.Context(), "x", from)
					if err != nil || len(events) != int(6-from) {
						t.Fatalf("%s: %d events, %v", test.name, len(events), err)
					}
					for _, e := range events {
						if bytes.Contains(e.Payload, []byte(plaintext)) {
							t.Errorf("%s: event %d is stored in the clear: %s", test.name, e.Seq, e.Payload)
						}
						shown, _, err := NewReader(func(label.Label) bool { return true }).Event(e)
						if test.want == "" {
							if err != nil || shown.Salt != OpenedSalt || !bytes.Contains(shown.Payload, []byte(plaintext)) {
								t.Errorf("%s: event %d: %s, %v", test.name, e.Seq, shown.Payload, err)
							}
							continue
						}
						if !errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "of run x") || len(shown.Payload) > 0 {
							t.Errorf("%s: event %d: %s, %v; want an error with %q", test.name, e.Seq, shown.Payload, err, test.want)
						}
					}
					if from == 1 {
						if err := VerifyWhole(events, ""); err != nil {
							t.Errorf("%s: %v", test.name, err)
						}
					}
				}
				if infos, err := s.Runs(t.Context(), 0); err != nil || infos[0].Agent != "baker" || infos[0].Status != StatusWaiting {
					t.Errorf("%s: the list has %+v, %v", test.name, infos, err)
				}
				if report, err := Audit(t.Context(), s, Evidence{}); err != nil || len(report.Problems) > 0 {
					t.Errorf("%s: %+v, %v", test.name, report.Problems, err)
				}
			}
		})
	}
}

func TestTheFileOfAnEncryptedJournalHasNoPlaintext(t *testing.T) {
	to, _ := pair(t)
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	s.Use(keysFor(t, to, ""))
	tellEncrypted(t, s, "")
	if _, err := Tell(t.Context(), s, Options{}, func([]Event) (GrantGiven, error) { return GrantGiven{Reason: plaintext}, nil }); err != nil {
		t.Fatal(err)
	}
	look := func(when string) {
		t.Helper()
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if b, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || bytes.Contains(b, []byte(plaintext)) {
				t.Errorf("%s: %s holds the plaintext, or %v", when, f.Name(), err)
			}
		}
	}
	look("with its log")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	look("closed")
}

// Whoever can write the journal can make a chain that verifies: what they put there does not open.
func TestWhatWasPutIntoAnEncryptedRunDoesNotOpen(t *testing.T) {
	to, own := pair(t)
	record := func(run string) []Event {
		s := NewMemory()
		s.Use(keysFor(t, to, ""))
		tellEncrypted(t, s, run)
		events, err := s.Read(t.Context(), run, 1)
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	edit := func(e *Event, f func(p *sealedPayload)) {
		p, err := parseSealed(*e)
		if err != nil {
			t.Fatal(err)
		}
		f(&p)
		if e.Payload, err = json.Marshal(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name  string
		forge func(events, twin []Event)
		bad   int64 // the first event that does not open
		want  string
	}{
		{"a bit of the ciphertext", func(e, _ []Event) { edit(&e[1], func(p *sealedPayload) { p.Encrypted.Data[20] ^= 1 }) }, 2, "altered"},
		{"a ciphertext cut off", func(e, _ []Event) { edit(&e[1], func(p *sealedPayload) { p.Encrypted.Data = p.Encrypted.Data[:5] }) }, 2, "altered"},
		{"two events exchanged", func(e, _ []Event) { e[1].Payload, e[2].Payload = e[2].Payload, e[1].Payload }, 2, "of another place"},
		{"an event of another run", func(e, twin []Event) { e[3].Payload = twin[3].Payload }, 4, "of another place or run"},
		{"another call", func(e, _ []Event) { e[3].Call = "1.2" }, 4, "altered"},
		{"another type", func(e, _ []Event) { e[2].Type = CallResult }, 3, "altered"},
		{"another time", func(e, _ []Event) { e[2].Time = e[2].Time.Add(1) }, 3, "altered"},
		{"another agent", func(e, _ []Event) { edit(&e[0], func(p *sealedPayload) { p.Agent = "cook" }) }, 1, "altered"},
		{"another status", func(e, _ []Event) { edit(&e[4], func(p *sealedPayload) { p.Status = StatusDone }) }, 5, "altered"},
		{"other recipients", func(e, _ []Event) { edit(&e[0], func(p *sealedPayload) { p.Encrypted.To = nil }) }, 1, "altered"},
		{"the key of another run", func(e, twin []Event) {
			edit(&e[0], func(p *sealedPayload) {
				q, _ := parseSealed(twin[0])
				p.Encrypted.Key = q.Encrypted.Key
			})
		}, 1, "altered"},
		{"no key", func(e, _ []Event) { edit(&e[0], func(p *sealedPayload) { p.Encrypted.Key = nil }) }, 1, "not written as an encrypted event is"},
		{"a key that is none", func(e, _ []Event) { edit(&e[0], func(p *sealedPayload) { p.Encrypted.Key = []byte("key") }) }, 1, "the key that it carries is none"},
		{"the first event of another run", func(e, twin []Event) { e[0].Payload = twin[0].Payload }, 1, "altered"},
		{"a key of its own", func(e, twin []Event) { e[2].Payload = twin[0].Payload }, 3, "not written as an encrypted event is"},
		{"an event in the clear", func(e, _ []Event) { e[3].Payload = json.RawMessage(`{"tool":"mail.send"}`) }, 4, "forged: it is not encrypted"},
		{"a run in the clear", func(e, _ []Event) { e[0].Payload = json.RawMessage(`{"schema":2,"agent":"baker"}`) }, 2, "forged: it is encrypted, and its run is not"},
		{"a field more", func(e, _ []Event) {
			e[1].Payload = json.RawMessage(strings.Replace(string(e[1].Payload), "}}", `},"x":1}`, 1))
		}, 2, "not written as an encrypted event is"},
	} {
		t.Run(test.name, func(t *testing.T) {
			events := record("x")
			test.forge(events, record("y"))
			head := ""
			for i, e := range events {
				events[i] = seal(head, e)
				head = events[i].Hash
			}
			if err := Verify(events); err != nil {
				t.Fatalf("the chain was made anew: %v", err)
			}
			keysFor(t, "", own).open(events, events[0])
			for _, e := range events {
				p, err := e.Plain()
				switch {
				case e.Seq == test.bad:
					if err == nil || errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), test.want) || p != nil {
						t.Errorf("event %d: %s, %v; want an error with %q", e.Seq, p, err, test.want)
					}
				case err == nil && e.Seq < test.bad && e.opening != nil && !bytes.Contains(p, []byte(plaintext)):
					t.Errorf("event %d: %s", e.Seq, p)
				}
			}
			s := NewMemory()
			s.Use(keysFor(t, "", own))
			if err := s.Append(t.Context(), events, false); err != nil {
				return // the list of runs refuses it
			}
			if r, _, err := Resume(t.Context(), s, "x", Options{}); err == nil {
				r.Close()
				t.Error("it is gone on with")
			}
			if r, _, err := Retrace(t.Context(), s, "x", Retracing{}, Options{}); err == nil {
				r.Close()
				t.Error("it is gone over again")
			}
		})
	}
}

func TestAnEncryptedRunIsGoneOnWithUnderItsKey(t *testing.T) {
	to, own := pair(t)
	elsewhere, _ := pair(t)
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			s := store.open(t).(user)
			s.Use(keysFor(t, to, ""))
			tellEncrypted(t, s, "x")
			for _, keys := range []*Keys{nil, keysFor(t, to, "")} {
				s.Use(keys)
				if _, _, err := Resume(t.Context(), s, "x", Options{}); !errors.Is(err, ErrEncrypted) {
					t.Errorf("without an identity: %v", err)
				}
				if _, _, err := Retrace(t.Context(), s, "x", Retracing{}, Options{}); !errors.Is(err, ErrEncrypted) {
					t.Errorf("without an identity: %v", err)
				}
			}
			s.Use(keysFor(t, elsewhere, own)) // those whom it is encrypted to now have no part in the run
			r, header, err := Retrace(t.Context(), s, "x", Retracing{}, Options{})
			if err != nil || header.Inputs[0].Value.Str != plaintext {
				t.Fatalf("%+v, %v", header, err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r, _, err = Resume(t.Context(), s, "x", Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Append(t.Context(), RunEnd, "", RunEnded{Status: StatusDone, Reason: plaintext}, true); err != nil {
				t.Fatal(err)
			}
			s.Use(keysFor(t, "", own))
			events, err := s.Read(t.Context(), "x", 6)
			if err != nil || len(events) != 1 || bytes.Contains(events[0].Payload, []byte(plaintext)) {
				t.Fatalf("%+v, %v", events, err)
			}
			if end, err := Decode[RunEnded](events[0]); err != nil || end.Reason != plaintext {
				t.Errorf("%+v, %v", end, err)
			}
		})
	}
}

func TestARunWithoutItsKeyIsNotGoneOnWithInTheClear(t *testing.T) {
	to, own := pair(t)
	s := NewMemory()
	s.Use(keysFor(t, to, own))
	tellEncrypted(t, s, "x")
	s.events["x"][0] = s.events["x"][0].Redact()
	if _, _, err := Resume(t.Context(), s, "x", Options{}); err == nil || !strings.Contains(err.Error(), "its key was redacted with event 1") {
		t.Errorf("%v", err)
	}
	events, err := s.Read(t.Context(), "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode[TurnStarted](events[1]); err == nil || !strings.Contains(err.Error(), "event 2 (turn.start) of run x: its key was redacted") {
		t.Errorf("%v", err)
	}
}

// Who answers at the desk may have begun it in the clear, and need not be able to read what others are encrypted to.
func TestTheDeskIsEncryptedEventByEvent(t *testing.T) {
	to, own := pair(t)
	s := NewMemory()
	say := func(keys *Keys) error {
		s.Use(keys)
		_, err := Tell(t.Context(), s, Options{}, func(past []Event) (GrantGiven, error) {
			for _, e := range past[min(1, len(past)):] {
				if _, err := Decode[GrantGiven](e); err != nil {
					return GrantGiven{}, err
				}
			}
			return GrantGiven{Reason: plaintext}, nil
		})
		return err
	}
	if err := errors.Join(say(nil), say(keysFor(t, to, "")), say(keysFor(t, to, own))); err != nil {
		t.Fatal(err)
	}
	if err := say(keysFor(t, to, "")); !errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), "event 3 (grant) of run approvals") {
		t.Errorf("without an identity: %v", err)
	}
	s.Use(keysFor(t, "", own))
	past, err := Desk(t.Context(), s)
	if err != nil || len(past) != 4 {
		t.Fatalf("%d events, %v", len(past), err)
	}
	for _, e := range past[1:] {
		g, err := Decode[GrantGiven](e)
		if err != nil || g.Reason != plaintext || bytes.Contains(e.Payload, []byte(plaintext)) != (e.Seq == 2) {
			t.Errorf("event %d: %+v, %v, stored as %s", e.Seq, g, err, e.Payload)
		}
	}
}

func TestSecretsStayMaskedWithinWhatIsEncrypted(t *testing.T) {
	to, own := pair(t)
	s := NewMemory()
	s.Use(keysFor(t, to, own))
	r, err := Begin(t.Context(), s, "x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret := value.StringOf(plaintext, label.New(label.User, label.Public(), []string{SecretTag}))
	e, err := r.Append(t.Context(), RunStart, "", RunStarted{Agent: "baker", Inputs: []Input{{Name: "key", Value: secret}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := e.Plain(); err != nil || bytes.Contains(p, []byte(plaintext)) || !bytes.Contains(p, []byte(maskPrefix)) {
		t.Errorf("%s, %v", p, err)
	}
}

// An export of an encrypted run is what is stored, and comes back as it went.
func TestAnEncryptedRunIsExportedAndImportedWithoutAKey(t *testing.T) {
	to, own := pair(t)
	from := openTest(t)
	from.Use(keysFor(t, to, ""))
	tellEncrypted(t, from, "x")
	from.Use(nil)
	events, err := from.Read(t.Context(), "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Export(&b, events); err != nil || bytes.Contains(b.Bytes(), []byte(plaintext)) {
		t.Fatalf("%s, %v", b.Bytes(), err)
	}
	read, _, err := Import(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode[TurnStarted](read[1]); !errors.Is(err, ErrEncrypted) {
		t.Errorf("as it was imported: %v", err)
	}
	into := openTest(t)
	if err := into.Import(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	into.Use(keysFor(t, "", own))
	if read, err = into.Read(t.Context(), "x", 2); err != nil {
		t.Fatal(err)
	}
	if turn, err := Decode[TurnStarted](read[0]); err != nil || turn.Program != plaintext {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestNewKeysRefuses(t *testing.T) {
	to, own := pair(t)
	for _, test := range []struct{ name, recipient, identities, want string }{
		{"a recipient that is none", to[:len(to)-1], own, "got no age recipient"},
		{"an identity as a recipient", "AGE-SECRET-KEY-1", own, "got no age recipient"},
		{"an empty file", to, "", "got no age identities"},
		{"a recipient as an identity", to, to, "got no age identities"},
		{"half an identity", to, own[:len(own)-4], "got no age identities"},
	} {
		if _, err := NewKeys([]string{test.recipient}, strings.NewReader(test.identities)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		} else if strings.Contains(err.Error(), strings.TrimSpace(own[len(own)-30:len(own)-4])) {
			t.Errorf("%s: the error tells the identity: %v", test.name, err)
		}
	}
}
