package journal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/age"
)

// ErrEncrypted is why an event cannot be read: it is encrypted, and no identity that is given opens it.
var ErrEncrypted = errors.New("encrypted")

// OpenedSalt stands in place of the salt of an event that was encrypted and is shown opened: its digest is of what is stored, and so it does
// not verify.
const OpenedSalt = "opened"

// Keys are what the runs of a store are encrypted to, and opened with. A nil *Keys encrypts nothing and opens nothing. It is safe for concurrent
// use.
type Keys struct {
	names []string
	to    []age.Recipient
	own   []age.Identity

	mu   sync.Mutex
	live map[string]*runKey // by how they are wrapped: those of the runs that these keys have begun, until they end
}

// NewKeys returns what encrypts to age recipients ("age1…"), to nobody if there are none, and opens with the identities that are read from an age
// identity file; nil: none. A run that was begun with these keys can be read with them until it ends or waits.
func NewKeys(recipients []string, identities io.Reader) (*Keys, error) {
	k := &Keys{live: map[string]*runKey{}}
	for _, text := range recipients {
		r, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, fmt.Errorf("journal: recipient %q: got no age recipient, want age1 and what age-keygen writes behind it", text)
		}
		k.names, k.to = append(k.names, text), append(k.to, r)
	}
	if identities != nil {
		var err error
		if k.own, err = age.ParseIdentities(identities); err != nil {
			// What the parser says may quote the line, which may be a secret key.
			return nil, errors.New("journal: got no age identities, want what age-keygen writes: AGE-SECRET-KEY-1… on a line of its own, not encrypted itself")
		}
	}
	return k, nil
}

// keyed is a store's keys.
type keyed struct{ keys atomic.Pointer[Keys] }

// Use sets the keys of the store: runs that begin later are encrypted to their recipients, and what is read later is opened with their identities. nil: none.
func (k *keyed) Use(keys *Keys) { k.keys.Store(keys) }

// Keys implements [Store].
func (k *keyed) Keys() *Keys { return k.keys.Load() }

// runKey encrypts the payloads of one run, or one event of the desk.
type runKey struct {
	to      []string
	wrapped []byte // the key, encrypted to them, as an age file
	aead    cipher.AEAD
}

// sealedMark is how the payload of an encrypted event begins, and that of no other.
const sealedMark = `{"encrypted":`

// sealedPayload is the payload of an encrypted event as it is stored. It has this one form.
type sealedPayload struct {
	Encrypted struct {
		To   []string `json:"to,omitempty"`  // of an event that carries the key
		Key  []byte   `json:"key,omitempty"` // wrapped
		Data []byte   `json:"data"`          // nonce, ciphertext and tag of the payload
	} `json:"encrypted"`
	Schema int    `json:"schema,omitempty"` // of RunStarted
	Agent  string `json:"agent,omitempty"`  // of RunStarted
	Status string `json:"status,omitempty"` // of RunEnded
}

// opening is what came of opening an encrypted event.
type opening struct {
	plain json.RawMessage
	err   error
}

func encrypted(payload []byte) bool { return bytes.HasPrefix(payload, []byte(sealedMark)) }

// carries reports whether an event carries the key that it is encrypted with: the first of a run, for all of it, and each at the desk, to which
// people add who cannot read the others.
func carries(e Event) bool { return e.Seq == 1 || e.Run == DeskRun }

// fresh makes a key; nil if nothing is encrypted.
func (k *Keys) fresh() (*runKey, error) {
	if k == nil || len(k.to) == 0 {
		return nil, nil
	}
	key := make([]byte, 32)
	rand.Read(key)
	var b bytes.Buffer
	w, err := age.Encrypt(&b, k.to...)
	if err == nil {
		_, err = w.Write(key)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypting the key: %w", err)
	}
	return newRunKey(key, k.names, b.Bytes())
}

func newRunKey(key []byte, to []string, wrapped []byte) (*runKey, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &runKey{to, wrapped, aead}, nil
}

// begin makes the key of a run, which can be read with it until done.
func (k *Keys) begin() (*runKey, error) {
	key, err := k.fresh()
	if key != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.live[string(key.wrapped)] = key
	}
	return key, err
}

// done forgets the key of a run.
func (k *Keys) done(key *runKey) {
	if k == nil || key == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.live, string(key.wrapped))
}

// unwrap returns the key that an event carries.
func (k *Keys) unwrap(p sealedPayload) (*runKey, error) {
	to := strings.Join(p.Encrypted.To, ", ")
	if k == nil {
		return nil, fmt.Errorf("%w to %s, and no identity is given", ErrEncrypted, to)
	}
	k.mu.Lock()
	key := k.live[string(p.Encrypted.Key)]
	k.mu.Unlock()
	switch {
	case key != nil:
		return key, nil
	case len(k.own) == 0:
		return nil, fmt.Errorf("%w to %s, and no identity is given", ErrEncrypted, to)
	}
	r, err := age.Decrypt(bytes.NewReader(p.Encrypted.Key), k.own...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, fmt.Errorf("%w to %s, and the identity that is given is another", ErrEncrypted, to)
	}
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(io.LimitReader(r, 33))
	}
	if err != nil || len(raw) != 32 {
		return nil, errors.New("altered: the key that it carries is none")
	}
	return newRunKey(raw, p.Encrypted.To, p.Encrypted.Key)
}

// bound is what a ciphertext holds for and nothing else: its event, and what stands beside it in the clear.
func bound(e Event, p sealedPayload) ([]byte, error) {
	p.Encrypted.Data = nil
	clear, err := json.Marshal(p)
	return []byte(hashParts("callgate journal encryption 1", e.Run, strconv.FormatInt(e.Seq, 10), e.Time.UTC().Format(time.RFC3339Nano), string(e.Type), e.Call, string(clear))), err
}

// encrypt returns an event, whose payload is in the clear, as it is stored; as it is if the key is nil.
func (k *runKey) encrypt(e Event) (Event, error) {
	if k == nil {
		return e, nil
	}
	var p sealedPayload
	if carries(e) {
		p.Encrypted.To, p.Encrypted.Key = k.to, k.wrapped
	}
	if e.Type == RunStart || e.Type == RunEnd {
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return e, err
		}
	}
	with, err := bound(e, p)
	if err != nil {
		return e, err
	}
	p.Encrypted.Data = k.aead.Seal(nil, nil, e.Payload, with)
	e.Payload, err = json.Marshal(p)
	return e, err
}

// decrypt returns the payload of an encrypted event.
func (k *runKey) decrypt(e Event, p sealedPayload) (json.RawMessage, error) {
	with, err := bound(e, p)
	if err != nil {
		return nil, err
	}
	plain, err := k.aead.Open(nil, nil, p.Encrypted.Data, with)
	if err != nil {
		return nil, errors.New("altered, or of another place or run: it does not open with the run's key")
	}
	return plain, nil
}

// parseSealed reads the payload of an encrypted event, which has one form.
func parseSealed(e Event) (p sealedPayload, err error) {
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return p, fmt.Errorf("altered: %w", err)
	}
	same, err := json.Marshal(p)
	if err == nil && (!bytes.Equal(same, e.Payload) || carries(e) != (len(p.Encrypted.Key) > 0)) {
		err = errors.New("altered: it is not written as an encrypted event is")
	}
	return p, err
}

// keyOf returns the key of a run by its first event; nil if the run is not encrypted. Of one whose first event was redacted nobody knows.
func (k *Keys) keyOf(header Event) (*runKey, error) {
	if header.Redacted() {
		return nil, errors.New("its key was redacted with event 1")
	}
	if !encrypted(header.Payload) {
		return nil, nil
	}
	p, err := parseSealed(header)
	if err != nil {
		return nil, fmt.Errorf("event 1: %w", err)
	}
	key, err := k.unwrap(p)
	if err != nil && !errors.Is(err, ErrEncrypted) {
		return nil, fmt.Errorf("event 1: %w", err)
	}
	return key, err
}

// open opens events of one run, in place. What does not open says so when it is decoded: the chain can be verified all the same.
func (k *Keys) open(events []Event, header Event) {
	key, why := k.keyOf(header)
	whole := header.Run != DeskRun && !header.Redacted() && encrypted(header.Payload)
	for i, e := range events {
		switch {
		case e.Redacted():
		case encrypted(e.Payload):
			plain, err := k.openOne(e, key, why)
			events[i].opening = &opening{plain, err}
		case whole:
			events[i].opening = &opening{err: errors.New("forged: it is not encrypted, and its run is")}
		}
	}
}

// openOne opens an event, with the key of its run or why there is none, or with its own.
func (k *Keys) openOne(e Event, key *runKey, why error) (json.RawMessage, error) {
	if !carries(e) {
		switch {
		case why != nil:
			return nil, why
		case key == nil:
			return nil, errors.New("forged: it is encrypted, and its run is not")
		}
	}
	p, err := parseSealed(e)
	if err != nil {
		return nil, err
	}
	if carries(e) {
		if key, err = k.unwrap(p); err != nil {
			return nil, err
		}
	}
	return key.decrypt(e, p)
}

// goOn returns the key with which a run is gone on with; nil if it is not encrypted.
func (k *Keys) goOn(events []Event) (*runKey, error) {
	header := events[0]
	if header.Redacted() && !slices.ContainsFunc(events, func(e Event) bool { return encrypted(e.Payload) }) {
		return nil, nil
	}
	key, err := k.keyOf(header)
	if err != nil {
		return nil, fmt.Errorf("journal: run %s: %w", header.Run, err)
	}
	for _, e := range events {
		if _, err := e.Plain(); err != nil && !e.Redacted() {
			return nil, fmt.Errorf("journal: event %d (%s) of run %s: %w", e.Seq, e.Type, e.Run, err)
		}
	}
	return key, nil
}

// Plain returns the payload as it was appended, in JSON: opened, if it is encrypted. Errors are [ErrRedacted], [ErrEncrypted], and that it was
// altered or is not where it was written.
func (e Event) Plain() (json.RawMessage, error) {
	switch {
	case e.Redacted():
		return nil, ErrRedacted
	case e.opening != nil:
		return e.opening.plain, e.opening.err
	case encrypted(e.Payload):
		return nil, fmt.Errorf("%w, and nothing was given to open it with", ErrEncrypted)
	}
	return e.Payload, nil
}

// Opened returns an event with its payload in the clear, for showing: [OpenedSalt] stands in place of its salt if it was encrypted. What is not
// encrypted, or redacted, stays as it is. Errors are those of [Event.Plain], and name the event.
func (e Event) Opened() (Event, error) {
	if e.Redacted() {
		return e, nil
	}
	plain, err := e.Plain()
	if err != nil {
		return Event{}, fmt.Errorf("journal: event %d (%s) of run %s: %w", e.Seq, e.Type, e.Run, err)
	}
	if e.opening != nil {
		e.Payload, e.Salt, e.opening = plain, OpenedSalt, nil
	}
	return e, nil
}
