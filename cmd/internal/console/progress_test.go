package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/engine/gate"
	"callgate/engine/journal"
)

// screen is what a terminal was sent.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

// take returns what was sent since the last time.
func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.buf.Reset()
	return s.buf.String()
}

func happening(t *testing.T, typ journal.Type, call string, payload any) journal.Event {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Event{Run: "r", Type: typ, Call: call, Payload: b, Salt: "s"}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(screen)
		p := NewProgress(s, Look{Width: 80})
		defer p.Close()
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		see := func(want string) {
			t.Helper()
			got := s.take()
			lines := strings.Split(got, "\r")
			if last := strings.TrimSuffix(lines[len(lines)-1], "\x1b[K"); last != want {
				t.Errorf("the line is %q, want %q", last, want)
			}
		}
		p.Event(happening(t, journal.RunStart, "", journal.RunStarted{Mode: "react"}))
		wait(900 * time.Millisecond)
		see("") // it is quick
		wait(1300 * time.Millisecond)
		see("0 calls  2s  the model thinks (2s)")
		p.Reply(0, "the server is busy; again in 5s")
		wait(time.Second)
		see("0 calls  3s  waiting for the model: the server is busy; again in 5s (3s)")
		p.Reply(300, "")
		wait(time.Second)
		see("0 calls  300 tokens  4s  the model writes (4s)")
		p.Event(happening(t, journal.ModelReply, "", journal.ModelReplied{Tokens: [2]int64{4000, 310}, Cost: 12_500_000}))
		p.Event(happening(t, journal.TurnStart, "", journal.TurnStarted{Turn: 1}))
		p.Event(happening(t, journal.CallStart, "1.1", journal.CallStarted{Tool: "mail.send\x1b[2J"}))
		p.Event(happening(t, journal.CallStart, "1.2", journal.CallStarted{Tool: "mail.read"}))
		wait(1100 * time.Millisecond)
		see(`turn 1  0 calls  4.3k tokens  cost 0.0125  5s  mail.send\x1b[2J runs, and 1 mor`) // cut at the width
		resume := p.Pause()
		see("")
		wait(5 * time.Second)
		see("")
		resume()
		p.Event(happening(t, journal.CallResult, "1.1", journal.CallEnded{}))
		wait(1300 * time.Millisecond)
		see("turn 1  1 call  4.3k tokens  cost 0.0125  12s  mail.read runs (1s)")
		fmt.Fprintln(p.Over(s), "something else")
		if got := s.take(); got != "\r\x1b[Ksomething else\n" {
			t.Errorf("written over the line: %q", got)
		}
		p.Stopping()
		wait(1300 * time.Millisecond)
		see("turn 1  1 call  4.3k tokens  cost 0.0125  13s  stopping; another Ctrl-C ends it")
		p.Event(happening(t, journal.RunEnd, "", journal.RunEnded{}))
		see("")
		wait(5 * time.Second)
		if got := s.take(); got != "" {
			t.Errorf("after the end: %q", got)
		}
	})
}

func TestNoProgress(t *testing.T) {
	var p *Progress
	p.Event(journal.Event{})
	p.Reply(1, "")
	p.Stopping()
	p.Pause()()
	p.Close()
	var b bytes.Buffer
	if fmt.Fprint(p.Over(&b), "x"); b.String() != "x" {
		t.Errorf("got %q", b.String())
	}
}

// What a person must say about a call that was interrupted, nobody says for them.
func TestHowToGoOnAfterAnInterruptedCall(t *testing.T) {
	for _, ask := range []string{"notes.replace", gate.AskInterrupted} {
		var b bytes.Buffer
		var got []bool
		tl := NewTimeline(&b, Options{Next: func(_, _ string, interrupted bool) string {
			got = append(got, interrupted)
			return "go on"
		}})
		tl.Event(happening(t, journal.RunStart, "", journal.RunStarted{}))
		tl.Event(happening(t, journal.Approved, "1.1", journal.ApprovalGiven{Ask: ask, Verdict: journal.StatusWaiting}))
		tl.Event(happening(t, journal.RunEnd, "", journal.RunEnded{Status: journal.StatusWaiting}))
		if err := tl.Close(); err != nil || len(got) != 1 || got[0] != (ask == gate.AskInterrupted) {
			t.Errorf("%s: got %v, %v", ask, got, err)
		}
	}
}
