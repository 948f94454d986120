package journal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a [Run]. The zero Options are the usual ones.
type Options struct {
	Now func() time.Time // nil: [time.Now]
	Who string           // the person at the run, for others who want it meanwhile
}

// Run appends to the journal of one run. It is safe for concurrent use.
type Run struct {
	id    string
	store Store
	now   func() time.Time
	mask  *masker
	keys  *Keys   // of the store, when the run began or was gone on with
	key   *runKey // nil: it is not encrypted
	claim *claim

	mu       sync.Mutex
	seq      int64  // of the last event
	head     string // its hash
	ended    bool   // the last event is a RunEnd
	past     *past  // of a run that is gone over again; else nil
	dead     error  // why nothing is recorded any more
	watchers []func(Event)
}

// Entry is an event to be appended.
type Entry struct {
	Type    Type
	Call    string // the call's id, if it is about one
	Payload any    // of the Go type that stands beside the Type, or a pointer to one
}

// Begin starts a run in a store. Its id is made up if run is "": it sorts by
// time and cannot be guessed. Otherwise run has 1 to 64 letters, digits, dots, dashes and
// underscores. The run is claimed until its [RunEnd] or [Run.Close]; somebody else's claim is a [*HeldError]. No event
// is stored before the first [Run.Append], which must be of the [RunStart] and fails with [ErrConflict] if the store has a run of that id.
func Begin(ctx context.Context, s Store, run string, o Options) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := newRun(s, run, o)
	if run == "" {
		r.id = newID(r.now())
	}
	if err := checkID(r.id); err != nil {
		return nil, err
	}
	var err error
	if r.key, err = r.keys.begin(); err != nil {
		return nil, fmt.Errorf("journal: run %s: %w", r.id, err)
	}
	if err := r.hold(ctx, o); err != nil {
		r.keys.done(r.key)
		return nil, err
	}
	return r, nil
}

// hold claims the run.
func (r *Run) hold(ctx context.Context, o Options) (err error) {
	r.claim, err = take(ctx, r.store, r.id, o.Who, r.kill)
	return err
}

// kill ends the recording of a run that has not ended.
func (r *Run) kill(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead == nil && !r.ended {
		r.dead = fmt.Errorf("journal: run %s is not recorded any more: %w", r.id, why)
	}
}

// Close gives up the claim of the run, which may go on elsewhere then: nothing is appended any more. A run that has ended has
// given it up already. Closing again does nothing.
func (r *Run) Close() error {
	r.kill(ErrClosed)
	r.keys.done(r.key)
	return r.claim.release()
}

// Resume goes on with a run that has not ended or waits for somebody, and returns its
// events so far, verified. The run is claimed first: who comes second gets a [*HeldError], and who went on without
// a claim, since it had expired, [ErrConflict] when appending. Other errors are [ErrNoRun], [ErrEnded], [ErrNewer] and [*ChainError].
func Resume(ctx context.Context, s Store, run string, o Options) (_ *Run, _ []Event, err error) {
	r := newRun(s, run, o)
	if err := checkID(run); err != nil {
		return nil, nil, err
	}
	if err := r.hold(ctx, o); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.claim.release())
		}
	}()
	events, err := s.Read(ctx, run, 1)
	if err != nil {
		return nil, nil, err
	}
	if len(events) == 0 {
		return nil, nil, fmt.Errorf("journal: run %q: %w", run, ErrNoRun)
	}
	if err := Verify(events); err != nil {
		return nil, nil, err
	}
	if r.key, err = r.keys.goOn(events); err != nil {
		return nil, nil, err
	}
	last := events[len(events)-1]
	r.seq, r.head = last.Seq, last.Hash
	if last.Type == RunEnd {
		end, err := Decode[RunEnded](last)
		if err != nil {
			return nil, nil, err
		}
		if !end.GoesOn() {
			return nil, nil, fmt.Errorf("journal: run %s: %w: %s", run, ErrEnded, end.Status)
		}
	}
	return r, events, nil
}

func newRun(s Store, id string, o Options) *Run {
	r := &Run{id: id, store: s, now: o.Now, mask: newMasker(), keys: s.Keys()}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// ID returns the run's id.
func (r *Run) ID() string { return r.id }

// Head returns the number and the hash of the last event: 0 and "" before the first.
func (r *Run) Head() (seq int64, hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seq, r.head
}

// Err returns why nothing is recorded any more, or nil.
func (r *Run) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead
}

// Watch calls f for every later event, in order, after it was stored. f must be quick and must
// not call the Run.
func (r *Run) Watch(f func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, f)
}

// Append records one event: it masks what is secret, chains the event to the last one,
// stores it and calls the watchers. With sync it returns once the event is durable. An event that
// has begun to be recorded is recorded even if ctx ends meanwhile.
//
// After an error the event is not recorded, and what it stands for must not be done. If it was the
// store that failed, the run is dead: every later Append returns the same error. After a [RunEnd]
// every Append returns [ErrEnded].
func (r *Run) Append(ctx context.Context, t Type, call string, payload any, sync bool) (Event, error) {
	events, err := r.AppendAll(ctx, sync, Entry{t, call, payload})
	if err != nil {
		return Event{}, err
	}
	return events[0], nil
}

// AppendAll is [Run.Append] for several events in one transaction: all of them are recorded, or none.
func (r *Run) AppendAll(ctx context.Context, sync bool, entries ...Entry) ([]Event, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead != nil {
		return nil, r.dead
	}
	if r.past == nil {
		return r.put(ctx, sync, entries)
	}
	events, fresh, err := r.meetAll(entries)
	if err != nil {
		r.dead = err
		r.claim.release() // or else it expires
		return nil, err
	}
	if fresh == nil {
		return events, nil
	}
	first := !r.past.said
	if first {
		fresh = append([]Entry{r.past.resumed()}, fresh...)
	}
	stored, err := r.put(ctx, sync, fresh)
	if err != nil {
		return nil, err
	}
	if first {
		r.past.said, stored = true, stored[1:]
	}
	for i := range events {
		if events[i].Seq == 0 { // it was not in the past
			events[i], stored = stored[0], stored[1:]
		}
	}
	return events, nil
}

// put stores entries as the next events.
func (r *Run) put(ctx context.Context, sync bool, entries []Entry) ([]Event, error) {
	seq, head, ended := r.seq, r.head, r.ended
	now := r.now().UTC().Round(0) // the same for all: they happen together
	events := make([]Event, len(entries))
	plain := make([]json.RawMessage, len(entries))
	for i, in := range entries {
		if ended {
			return nil, fmt.Errorf("journal: run %s: %s: %w", r.id, in.Type, ErrEnded)
		}
		if (seq == 0) != (in.Type == RunStart) {
			return nil, fmt.Errorf("journal: run %s: event %d: got %s; %s is the first event and no other", r.id, seq+1, in.Type, RunStart)
		}
		payload, err := r.marshal(in)
		if err != nil {
			return nil, fmt.Errorf("journal: run %s: %s: %w", r.id, in.Type, err)
		}
		ended = in.Type == RunEnd
		seq++
		e, err := r.encrypt(Event{Run: r.id, Seq: seq, Time: now, Type: in.Type, Call: in.Call, Payload: payload})
		if err != nil {
			return nil, fmt.Errorf("journal: run %s: %s: %w", r.id, in.Type, err)
		}
		events[i], plain[i] = seal(head, e), payload
		head = events[i].Hash
	}
	if err := r.store.Append(context.WithoutCancel(ctx), events, sync); err != nil {
		r.dead = fmt.Errorf("journal: run %s is not recorded any more: %w", r.id, err)
		r.claim.release() // or else it expires
		return nil, r.dead
	}
	r.seq, r.head, r.ended = seq, head, ended
	if ended {
		r.keys.done(r.key)
		r.claim.release() // or else it expires: the end is stored
	}
	for i, e := range events {
		if encrypted(e.Payload) {
			e.opening = &opening{plain: plain[i]}
			events[i] = e
		}
		for _, f := range r.watchers {
			f(e)
		}
	}
	return events, nil
}

// marshal checks that a payload has its event's Go type, masks and encodes it.
func (r *Run) marshal(in Entry) (json.RawMessage, error) {
	v := reflect.ValueOf(in.Payload)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	want, known := payloads[in.Type]
	if !known {
		return nil, fmt.Errorf("no such type of event")
	}
	if !v.IsValid() || v.Type() != want {
		return nil, fmt.Errorf("payload: got Go type %T, want %s", in.Payload, want)
	}
	payload := v.Interface()
	if start, ok := payload.(RunStarted); ok {
		start.Schema = Schema
		payload = start
	}
	if m, ok := payload.(maskable); ok {
		payload = m.masked(r.mask)
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxPayload {
		return nil, fmt.Errorf("payload: got %d bytes, want at most %d", len(b), MaxPayload)
	}
	return b, nil
}

// encrypt returns an event as it is stored.
func (r *Run) encrypt(e Event) (_ Event, err error) {
	key := r.key
	if r.id == DeskRun {
		if key, err = r.keys.fresh(); err != nil {
			return e, err
		}
	}
	if e, err = key.encrypt(e); err == nil && len(e.Payload) > MaxPayload {
		err = fmt.Errorf("payload: got %d bytes once encrypted, want at most %d", len(e.Payload), MaxPayload)
	}
	return e, err
}

const idLetters = "0123456789abcdefghjkmnpqrstvwxyz" // 32, none that is easily mistaken for another

// newID returns an id such as 20261201-100000123-k7q2m9xw4d: the time in UTC to the
// millisecond, and 50 random bits.
func newID(now time.Time) string {
	var b [10]byte
	rand.Read(b[:])
	for i := range b {
		b[i] = idLetters[b[i]%32]
	}
	stamp := strings.Replace(now.UTC().Format("20060102-150405.000"), ".", "", 1)
	return stamp + "-" + string(b[:])
}

// checkID refuses an id that would not make a file's name or a word on a command line.
func checkID(id string) error {
	ok := 0 < len(id) && len(id) <= 64 && id[0] != '-' && id[0] != '.'
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
	}
	if !ok {
		return fmt.Errorf("journal: run id: got %q, want 1 to 64 letters, digits, dots, dashes or underscores, with no dot or dash first", id)
	}
	return nil
}
