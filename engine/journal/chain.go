package journal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// saltBytes is the length of a salt: enough that a digest says nothing about a short payload.
const saltBytes = 16

// newSalt returns a salt in hex.
func newSalt() string {
	var b [saltBytes]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// digestOf returns the digest of a salted payload. Salts have one length, so that no two pairs meet.
func digestOf(salt string, payload []byte) string {
	h := sha256.New()
	h.Write([]byte(salt))
	h.Write(payload)
	return hex.EncodeToString(h.Sum(nil))
}

// hashOf chains an event to the one whose hash is previous ("" for the first).
func hashOf(previous string, e Event) string {
	return hashParts("callgate journal 1", previous, e.Run, strconv.FormatInt(e.Seq, 10), e.Time.UTC().Format(time.RFC3339Nano), string(e.Type), e.Call, e.Digest)
}

// seal fills in an event's salt, digest and hash.
func seal(previous string, e Event) Event {
	e.Salt = newSalt()
	e.Digest = digestOf(e.Salt, e.Payload)
	e.Hash = hashOf(previous, e)
	return e
}

// ChainError names the first event at which a run's journal is not what was written.
type ChainError struct {
	Run  string
	Seq  int64 // of the event, as it should be
	Type Type  // of the event found there; "" if none
	What string
}

func (e *ChainError) Error() string {
	at := fmt.Sprintf("journal: run %s: event %d", e.Run, e.Seq)
	if e.Type != "" {
		at += fmt.Sprintf(" (%s)", e.Type)
	}
	return at + ": " + e.What
}

// Verify checks the events of a whole run against their chain, and returns a [*ChainError]
// that names the first one that is missing, altered, reordered or forged, or
// [ErrNewer]. A redacted event passes: its digest is in the chain.
//
// Verify cannot see that events were cut off at the end, since a run that is
// still going looks the same; [VerifyWhole] can. Nor can it see a journal that
// somebody wrote anew as a whole: only a hash kept elsewhere shows that.
func Verify(events []Event) error {
	if len(events) == 0 {
		return &ChainError{Seq: 1, What: "missing: there are no events"}
	}
	for i, e := range events {
		if err := verifyNext(events[:i], e); err != nil {
			return err
		}
	}
	return nil
}

// verifyNext checks an event that should follow those before.
func verifyNext(before []Event, e Event) error {
	run, previous, want := e.Run, "", int64(len(before)+1)
	if want > 1 {
		run, previous = before[0].Run, before[want-2].Hash
	}
	bad := func(format string, args ...any) error {
		return &ChainError{Run: run, Seq: want, Type: e.Type, What: fmt.Sprintf(format, args...)}
	}
	switch {
	case e.Run != run:
		return bad("belongs to run %s", e.Run)
	case e.Seq > want:
		return &ChainError{Run: run, Seq: want, What: fmt.Sprintf("missing: event %d stands in its place", e.Seq)}
	case e.Seq < want:
		return bad("out of order: event %d stands in its place", e.Seq)
	case want == 1 && e.Type != RunStart:
		return bad("a run begins with %s", RunStart)
	case e.Redacted() && len(e.Payload) > 0 && !bytes.Equal(e.Payload, []byte("null")):
		return bad("forged: it has a payload but no salt")
	case !e.Redacted() && len(e.Salt) != 2*saltBytes:
		return bad("altered: a salt of %d characters, want %d", len(e.Salt), 2*saltBytes)
	case !e.Redacted() && digestOf(e.Salt, e.Payload) != e.Digest:
		return bad("altered: the payload does not match its digest")
	case hashOf(previous, e) != e.Hash:
		return bad("altered, forged, or not what followed event %d: its hash does not match", want-1)
	}
	if want == 1 {
		return checkSchema(e)
	}
	return nil
}

// VerifyWhole is [Verify] for a run whose end is known: head is the hash of its last event
// ([RunInfo.Head], or one kept elsewhere), or "" for a run that is known to have
// ended, whose last event must then be its [RunEnd]. Events cut off at the end are found.
func VerifyWhole(events []Event, head string) error {
	if err := Verify(events); err != nil {
		return err
	}
	last := events[len(events)-1]
	if head == "" && last.Type != RunEnd || head != "" && last.Hash != head {
		return &ChainError{Run: last.Run, Seq: last.Seq + 1, What: "cut off: the journal ends before it"}
	}
	return nil
}

// checkSchema refuses a run's header from a newer version. A redacted header says nothing.
func checkSchema(header Event) error {
	var h struct {
		Schema int `json:"schema"`
	}
	if header.Redacted() {
		return nil
	}
	if err := json.Unmarshal(header.Payload, &h); err != nil {
		return fmt.Errorf("journal: run %s: header: %w", header.Run, err)
	}
	if h.Schema > Schema {
		return fmt.Errorf("journal: run %s: has schema %d, this version reads up to %d: %w", header.Run, h.Schema, Schema, ErrNewer)
	}
	return nil
}
