package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/engine/label"
)

// Retracing says how a run is gone over again.
type Retracing struct {
	By      string   // whoever goes on with it, for the event that says so
	Process string   // that does it
	Changed []string // what is not as it was when the run began; see [Run.Changed]

	// Only is for looking, not for going on: what is recorded is compared and nothing is stored. A run that has ended can be
	// gone over so. What differs in its fields is kept ([Run.Differences]) and does not stop the run.
	Only bool

	// Base is Only for a run that another one goes on from: it must have ended for good, and all of it must be as it is recorded.
	Base bool
}

// ErrPast is why a run that is only looked at ends: all that is recorded was met.
var ErrPast = errors.New("there is no more of it in the journal")

// ErrUnended is why no other run goes on from a run: it may go on itself.
var ErrUnended = errors.New("it has not ended: go on with it itself")

// ErrImported is why a run that came from another journal is not gone on with: it may go on there, and then each of its calls would be made
// twice; and what it says of calls is the word of whoever exported it.
var ErrImported = errors.New("it was imported: go on with it in the journal in which it began, or begin it anew")

// Retrace goes over a run again, from its beginning, which is met already: the header is returned. Until the past is used up nothing is stored: what is
// appended is compared with what is recorded, event by event of each call, and the recorded events are returned; a difference is a
// [*DivergedError], and the run is dead. What was recorded and no program can know beforehand, [Run.Next] tells. The first event that is not
// in the past makes the run live: it is stored, after a [RunResumed] that says who went on.
//
// What only stopped the run is not in its past: see [Current]. The run is claimed as [Resume] does, unless how.Only. Errors are [*HeldError], [ErrNoRun], [ErrEnded] unless how.Only, [ErrUnended] if how.Base, [ErrNewer], [ErrRedacted], [ErrImported] unless how.Only alone and
// [*ChainError].
func Retrace(ctx context.Context, s Store, run string, how Retracing, o Options) (_ *Run, header RunStarted, err error) {
	if err := checkID(run); err != nil {
		return nil, header, err
	}
	how.Only = how.Only || how.Base
	r := newRun(s, run, o)
	if !how.Only {
		if err := r.hold(ctx, o); err != nil {
			return nil, header, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, r.claim.release())
			}
		}()
	}
	events, err := s.Read(ctx, run, 1)
	if err != nil {
		return nil, header, err
	}
	if len(events) == 0 {
		return nil, header, fmt.Errorf("journal: run %q: %w", run, ErrNoRun)
	}
	if err := Verify(events); err != nil {
		return nil, header, err
	}
	for _, e := range events {
		if e.Redacted() {
			return nil, header, fmt.Errorf("journal: run %s: event %d (%s): %w: it cannot be gone over again", run, e.Seq, e.Type, ErrRedacted)
		}
	}
	if r.key, err = r.keys.goOn(events); err != nil {
		return nil, header, err
	}
	last := events[len(events)-1]
	r.seq, r.head = last.Seq, last.Hash
	if how.Base && canGoOn(last) == nil {
		return nil, header, fmt.Errorf("journal: run %s: %w", run, ErrUnended)
	}
	if !how.Only {
		if err := canGoOn(last); err != nil {
			return nil, header, err
		}
	}
	if !how.Only || how.Base {
		ledger, err := s.Ledger(ctx, run)
		if err != nil {
			return nil, header, err
		}
		if slices.ContainsFunc(ledger.Lines, func(l Line) bool { return l.Kind == LineImport }) {
			return nil, header, fmt.Errorf("journal: run %s: %w", run, ErrImported)
		}
	}
	kept, given := current(events, !how.Only)
	r.past = newPast(kept, given, how)
	header, err = Decode[RunStarted](events[0])
	return r, header, err
}

// canGoOn refuses to go on after the last event of a run that has ended for good.
func canGoOn(last Event) error {
	if last.Type != RunEnd {
		return nil
	}
	end, err := Decode[RunEnded](last)
	if err == nil && !end.GoesOn() {
		err = fmt.Errorf("journal: run %s: %w: %s", last.Run, ErrEnded, end.Status)
	}
	return err
}

// Current returns the events of a run that count: where it was gone on with, what had only stopped it does not any more. That
// is a call that waited for a person, from its decision on (or, if it had begun and its outcome was not known, from there on), and how its
// program and the run ended because of it; and where the run was cancelled, that its last program and the calls under way ended so. With goesOn, that is so after its last event too: it is about to be gone on with.
func Current(events []Event, goesOn bool) []Event {
	kept, _ := current(events, goesOn)
	return kept
}

// current is Current. Approvals that were given to calls which went on waiting are returned by call.
func current(events []Event, goesOn bool) (kept []Event, given map[string][]Event) {
	given = map[string][]Event{}
	begin := 0 // in kept, of the part since the run was gone on with last
	for _, e := range events {
		if e.Type == Resumed {
			kept = withoutStop(kept, begin, given)
			begin = len(kept)
		}
		kept = append(kept, e)
	}
	if goesOn {
		kept = withoutStop(kept, begin, given)
	}
	return kept, given
}

// withoutStop takes what only stopped a run out of its events; the last part of them begins at an index. That is of the last program: in a session of a person's, programs
// before it may have waited too, and did not stop it.
func withoutStop(events []Event, begin int, given map[string][]Event) []Event {
	for i := len(events) - 1; i > begin; i-- {
		if events[i].Type == TurnStart {
			begin = i
			break
		}
	}
	if n := len(events); n > begin && events[n-1].Type == RunEnd {
		events = events[:n-1]
	}
	if n := len(events); n > begin && events[n-1].Type == ProgramEnd {
		if end, err := Decode[ProgramEnded](events[n-1]); err == nil && (end.Status == StatusWaiting || end.Code == StatusCancelled) {
			events = without(events[:n-1], begin, func(c CallEnded) bool { return c.Code == StatusCancelled })
		}
	}
	events = without(events, begin, func(c CallEnded) bool { return c.Waits })
	waits := map[string]int{} // by call: index of the last answer that was none
	for i := begin; i < len(events); i++ {
		if e := events[i]; e.Type == Approved {
			if a, err := Decode[ApprovalGiven](e); err == nil && a.Verdict == StatusWaiting {
				waits[e.Call] = i
			}
		}
	}
	if len(waits) == 0 {
		return events
	}
	begun := map[string]int{} // by call: index of its last start before that
	for i, e := range events {
		if at, ok := waits[e.Call]; ok && i < at && e.Type == CallStart {
			begun[e.Call] = i
		}
	}
	var kept []Event
	for i, e := range events {
		at, waited := waits[e.Call]
		start, started := begun[e.Call]
		if !waited || i > at || started && i <= start {
			kept = append(kept, e)
			continue
		}
		if e.Type == Approved {
			given[e.Call] = append(given[e.Call], e)
		}
	}
	return kept
}

// without takes some of what came of calls of the last program, which begins at an index, out of the events of a run: they have begun, and either were broken off with the program, so that whether
// they had their effect is not known, or are of agents that wait.
func without(events []Event, begin int, some func(CallEnded) bool) []Event {
	kept := slices.Clip(events[:begin])
	for _, e := range events[begin:] {
		if e.Type == CallResult {
			if ended, err := Decode[CallEnded](e); err == nil && some(ended) {
				continue
			}
		}
		kept = append(kept, e)
	}
	return kept
}

// past is what a run that is gone over again has recorded, and how much of it was met.
type past struct {
	how     Retracing
	events  []Event
	met     []bool
	first   int              // the first that was not met
	lines   map[string][]int // by call, "" for what is about none: the events not met, in order
	begun   map[string]bool  // calls whose start was met: what came of them may be met at any time
	given   map[string][]Event
	gone    int    // events met
	after   string // the last call met
	live    chan struct{}
	is      bool // live is closed
	said    bool // that the run was gone on with is stored
	differs []Difference
}

func newPast(events []Event, given map[string][]Event, how Retracing) *past {
	p := &past{how: how, lines: map[string][]int{}, begun: map[string]bool{}, given: given, live: make(chan struct{})}
	for _, e := range events {
		if e.Type != Resumed {
			p.lines[e.Call] = append(p.lines[e.Call], len(p.events))
			p.events = append(p.events, e)
		}
	}
	p.met = make([]bool, len(p.events))
	p.meet(0) // the header
	return p
}

// meet takes note that an event was met.
func (p *past) meet(i int) {
	e := p.events[i]
	p.met[i] = true
	for p.first < len(p.events) && p.met[p.first] {
		p.first++
	}
	p.lines[e.Call] = p.lines[e.Call][1:]
	p.gone++
	if e.Type == CallStart {
		p.begun[e.Call] = true
	}
	if e.Call != "" && !strings.HasSuffix(e.Call, ".p") && !strings.Contains(e.Call, "+") { // no program, and no pure builtin
		p.after = e.Call
	}
}

// loose reports whether an event may be met after what follows it: what came of a call that has begun.
func (p *past) loose(e Event) bool {
	return p.begun[e.Call] && (e.Type == CallStart || e.Type == CallResult || e.Type == Approved)
}

// ahead returns the first event that is to be met, after some that are about to be; nil if there is none.
func (p *past) ahead(noted int) *Event {
	for i := p.first; i < len(p.events); i++ {
		if p.met[i] || p.loose(p.events[i]) {
			continue
		}
		if noted == 0 {
			return &p.events[i]
		}
		noted--
	}
	return nil
}

// next returns the index of the next event of a call, after some that are about to be met.
func (p *past) next(call string, noted int) (int, bool) {
	line := p.lines[call]
	if noted >= len(line) {
		return 0, false
	}
	return line[noted], true
}

// Live returns what is closed once the run is stored again; nil if it was never gone over.
func (r *Run) Live() <-chan struct{} {
	if r.past == nil {
		return nil
	}
	return r.past.live
}

// Retracing reports whether the run is still in its past.
func (r *Run) Retracing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.past != nil && !r.past.is
}

// Looking reports whether the run is gone over only to be compared: it never goes live, and nothing may be done for it.
func (r *Run) Looking() bool { return r.past != nil && r.past.how.Only }

// Next returns the next event that is recorded of a call and was not met again, passing over as many as noted, which are about to be appended; call
// "" is what is about no call.
func (r *Run) Next(call string, noted int) (Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past == nil {
		return Event{}, false
	}
	i, ok := r.past.next(call, noted)
	if !ok {
		return Event{}, false
	}
	return r.past.events[i], true
}

// Ahead returns the first event that was not met again, passing over as many as noted and over what came of calls that have
// begun; false if the past is used up.
func (r *Run) Ahead(noted int) (Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past == nil || r.past.is {
		return Event{}, false
	}
	e := r.past.ahead(noted)
	if e == nil {
		return Event{}, false
	}
	return *e, true
}

// Given returns the approvals that a call was given before it went on waiting, oldest first. They are not in the past: the call is
// decided again.
func (r *Run) Given(call string) []Event {
	if r.past == nil {
		return nil
	}
	return r.past.given[call]
}

// Changed adds what is not as it was when the run began, for the event that says it was gone on with.
func (r *Run) Changed(what ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.how.Changed = append(r.past.how.Changed, what...)
}

// GoLive ends the past. It is an error, of which the run is dead, if something is left of it: a [*DivergedError]; or if the run is only looked
// at: [ErrPast].
func (r *Run) GoLive() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead == nil {
		r.dead = r.goLive(nil)
	}
	return r.dead
}

// goLive ends the past because of an entry that is not in it, or without one.
func (r *Run) goLive(entry *Entry) error {
	p := r.past
	if p == nil || p.is {
		return nil
	}
	if e := p.ahead(0); e != nil {
		d := Difference{Seq: e.Seq, Type: e.Type, Call: e.Call, Recorded: string(e.Type), Got: "nothing", Label: label.Bottom()}
		if entry != nil {
			d.Got = string(entry.Type)
			if entry.Call != e.Call {
				d.Got += " of call " + entry.Call
			}
		}
		return r.diverged(d)
	}
	if p.how.Only {
		return fmt.Errorf("journal: run %s: %w", r.id, ErrPast)
	}
	p.is = true
	close(p.live)
	return nil
}

// Abandon is [Run.Close], for a reason: every later append fails with it.
func (r *Run) Abandon(why error) error {
	r.kill(why)
	return r.claim.release()
}

// Gone returns how many events of the past were met, and how many there are.
func (r *Run) Gone() (met, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past == nil {
		return 0, 0
	}
	return r.past.gone, len(r.past.events)
}

// Differences returns what was found to differ in a run that is only looked at.
func (r *Run) Differences() []Difference {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.past == nil {
		return nil
	}
	return slices.Clone(r.past.differs)
}

// meetAll meets those of the entries that are in the past, and returns their events in place and the entries that are not.
func (r *Run) meetAll(entries []Entry) (events []Event, fresh []Entry, err error) {
	p := r.past
	events = make([]Event, len(entries))
	for n, in := range entries {
		i, ok := p.next(in.Call, 0)
		if !ok {
			if err := r.goLive(&in); err != nil {
				return nil, nil, err
			}
			fresh = append(fresh, in)
			continue
		}
		e := p.events[i]
		if first := p.ahead(0); e.Type != in.Type || in.Call == "" && first != nil && first.Seq != e.Seq {
			if in.Call == "" && first != nil {
				e = *first
			}
			return nil, nil, r.diverged(Difference{Seq: e.Seq, Type: e.Type, Call: e.Call, Recorded: string(e.Type), Got: string(in.Type), Label: label.Bottom()})
		}
		payload, err := r.marshal(in)
		if err != nil {
			return nil, nil, fmt.Errorf("journal: run %s: %s: %w", r.id, in.Type, err)
		}
		if d := compare(e, payload); d != nil {
			if err := r.diverged(*d); !p.how.Only || p.how.Base {
				return nil, nil, err
			}
		}
		p.meet(i)
		if e.Type == RunEnd {
			r.ended = true
		}
		events[n] = e
	}
	return events, fresh, nil
}

// diverged takes note of a difference and makes the error of it.
func (r *Run) diverged(d Difference) error {
	r.past.differs = append(r.past.differs, d)
	return &DivergedError{Run: r.id, Difference: d}
}

// resumed is the entry that says that the run was gone on with; it is stored before the first one that is new.
func (p *past) resumed() Entry {
	return Entry{Type: Resumed, Payload: RunResumed{By: p.how.By, Process: p.how.Process, After: p.after, Events: p.gone, Changed: p.how.Changed}}
}
