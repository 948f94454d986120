package console

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/engine/journal"
)

// Progress is a line at a terminal that says what a run is doing, while that takes longer than a second. What else is written to the same terminal goes
// through [Progress.Over]. It is safe for concurrent use; of a nil Progress all methods do nothing.
type Progress struct {
	out  io.Writer
	look Look

	mu      sync.Mutex
	start   time.Time
	since   time.Time // what is done now began
	doing   string    // "": nothing that takes time
	models  bool      // the programs are a model's
	running []call    // tools, the oldest first
	turn    int
	calls   int
	tokens  int64 // of replies that have arrived
	written int64 // of the one that is arriving
	cost    int64 // in billionths
	paused  int
	drawn   bool // the line is on the terminal
	closed  bool

	stop, done chan struct{}
}

// call is a tool that runs.
type call struct {
	id, tool string
	since    time.Time
}

// The pace of a progress line: how long something takes before it is shown, and how often it is drawn anew.
const (
	progressAfter = time.Second
	progressEvery = 250 * time.Millisecond
)

// NewProgress returns a progress line on a terminal. Close it.
func NewProgress(out io.Writer, look Look) *Progress {
	now := time.Now()
	p := &Progress{out: out, look: look, start: now, since: now, stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case now := <-tick.C:
				p.draw(now)
			}
		}
	}()
	return p
}

// Close takes the line away. Nothing is drawn afterwards.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.erase()
	p.mu.Unlock()
	if !was {
		close(p.stop)
		<-p.done
	}
}

// Pause keeps the line away, as long as somebody is asked something, until the function that it returns is called.
func (p *Progress) Pause() (resume func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused++
	p.erase()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused--
		now := time.Now() // nobody waited for the run meanwhile
		p.since = now
		for i := range p.running {
			p.running[i].since = now
		}
	}
}

// Over returns a writer to the same terminal, which takes the line away before it writes.
func (p *Progress) Over(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return over{p, w}
}

type over struct {
	p *Progress
	w io.Writer
}

func (o over) Write(b []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.erase()
	return o.w.Write(b)
}

// Event takes note of an event of the run.
func (p *Progress) Event(e journal.Event) {
	if p == nil {
		return
	}
	e, err := e.Opened()
	if err != nil || e.Redacted() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case journal.RunStart:
		if s, err := journal.Decode[journal.RunStarted](e); err == nil {
			p.models = s.Mode == "react" || s.Mode == "plan"
		}
		p.thinks()
	case journal.ModelReply:
		if r, err := journal.Decode[journal.ModelReplied](e); err == nil {
			p.spent(r.Tokens, r.Cost)
		}
		p.written = 0
	case journal.TurnStart:
		if s, err := journal.Decode[journal.TurnStarted](e); err == nil {
			p.turn = s.Turn
		}
		p.begin("the program runs")
	case journal.CallStart:
		if s, err := journal.Decode[journal.CallStarted](e); err == nil {
			p.running = append(p.running, call{e.Call, s.Tool, time.Now()})
		}
	case journal.CallResult:
		p.running = slices.DeleteFunc(p.running, func(c call) bool { return c.id == e.Call })
		p.calls++
		if r, err := journal.Decode[journal.CallEnded](e); err == nil && r.Spent != nil {
			p.spent(r.Spent.Tokens, r.Spent.Cost)
		}
		p.since = time.Now()
	case journal.ProgramEnd:
		p.running = nil
		p.thinks()
	case journal.RunEnd:
		p.doing, p.running = "", nil
		p.erase()
	}
}

// thinks begins what is done after a program, or before the first.
func (p *Progress) thinks() {
	if p.models {
		p.begin("the model thinks")
	} else {
		p.begin("")
	}
}

func (p *Progress) begin(doing string) { p.doing, p.since = doing, time.Now() }

func (p *Progress) spent(tokens [2]int64, cost int64) {
	p.tokens += tokens[0] + tokens[1]
	p.cost += cost
}

// Reply takes note of a reply that is arriving: how many tokens of it are there, about, and why nothing arrives, if so.
func (p *Progress) Reply(tokens int64, waiting string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = tokens
	switch {
	case waiting != "":
		p.doing = "waiting for the model: " + waiting
	case tokens > 0:
		p.doing = "the model writes"
	}
}

// Stopping takes note that the run was told to stop.
func (p *Progress) Stopping() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin("stopping; another Ctrl-C ends it at once")
	p.running, p.models = nil, false
}

// draw writes the line, if something takes long enough.
func (p *Progress) draw(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.line(now)
	if text == "" || p.paused > 0 || p.closed {
		p.erase()
		return
	}
	// If this fails nobody sees it.
	_, _ = io.WriteString(p.out, "\r"+p.look.paint(quiet, text)+"\x1b[K")
	p.drawn = true
}

// erase takes the line away.
func (p *Progress) erase() {
	if p.drawn {
		_, _ = io.WriteString(p.out, "\r\x1b[K") // as in draw
		p.drawn = false
	}
}

// line is what is to be said, "" if nothing is.
func (p *Progress) line(now time.Time) string {
	doing, since := p.doing, p.since
	if len(p.running) > 0 {
		doing, since = p.look.line(p.running[0].tool, maxName)+" runs", p.running[0].since
		if n := len(p.running) - 1; n > 0 {
			doing += fmt.Sprintf(", and %d more", n)
		}
	}
	if doing == "" || now.Sub(since) < progressAfter {
		return ""
	}
	var parts []string
	if p.turn > 0 {
		parts = append(parts, fmt.Sprintf("turn %d", p.turn))
	}
	parts = append(parts, count(p.calls, "call"))
	if n := p.tokens + p.written; n > 0 {
		parts = append(parts, short(n)+" tokens")
	}
	if p.cost > 0 {
		parts = append(parts, fmt.Sprintf("cost %.4f", float64(p.cost)/1e9))
	}
	parts = append(parts, now.Sub(p.start).Round(time.Second).String())
	text := strings.Join(parts, "  ") + "  " + p.look.line(doing, maxText) + " (" + now.Sub(since).Round(time.Second).String() + ")"
	width := p.look.Width
	if width == 0 {
		width = usual
	}
	if r := []rune(text); len(r) >= width {
		text = string(r[:max(width-1, 0)])
	}
	return text
}

// short writes a number in few digits.
func short(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
