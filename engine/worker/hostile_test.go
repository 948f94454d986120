package worker

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// puppet is a worker's side that does as a test says.
type puppet struct {
	t  testing.TB
	rw io.ReadWriter
	c  *conn
}

// hello makes the session as an honest worker does, and takes the first frame of the program.
func (p *puppet) hello() {
	h := hello{Version, eval.Language, nil}
	p.c.send(frameHello, h.write)
	p.c.max, p.c.most, p.c.room = mostIn, mostIn, roomIn
	p.c.receive()
	m := started{floor: label.Bottom()}
	p.c.send(frameStarted, m.write)
	p.c.receive()
}

func (p *puppet) raw(k kind, body ...byte) {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	p.rw.Write(append(append(b, byte(k)), body...))
}

func (p *puppet) do(calls ...eval.Call) {
	p.c.send(frameDo, func(e *encoder) {
		e.uint(uint64(len(calls)))
		for i := range calls {
			writeCall(e, &calls[i])
		}
	})
}

func (p *puppet) end(out eval.Outcome, names ...string) {
	m := ended{out, names}
	p.c.send(frameEnded, m.write)
}

// call is one that an honest worker could make first.
func call(change func(*eval.Call)) eval.Call {
	c := eval.Call{ID: "1.1", Kind: eval.KindTool, Tool: "send", PC: low, History: low, Site: eval.Site{File: "t.star", Line: 1, Column: 1}}
	if change != nil {
		change(&c)
	}
	return c
}

// strands are calls of strands that an honest worker could make first, but for their ids.
func strands(ids ...string) (out []eval.Call) {
	for _, id := range ids {
		out = append(out, call(func(c *eval.Call) { c.ID = id }))
	}
	return out
}

func problem(status eval.Status, change func(*eval.Error)) eval.Outcome {
	e := &eval.Error{Status: status, Code: "some.code", Site: eval.Site{File: "t.star", Line: 1, Column: 1}}
	if change != nil {
		change(e)
	}
	return eval.Outcome{Status: status, Err: e}
}

// counter counts the calls of each tool, and refuses some.
type counter struct{ calls map[string]int }

func (h *counter) Do(_ context.Context, calls []eval.Call) []eval.Result {
	out := make([]eval.Result, len(calls))
	for i, c := range calls {
		h.calls[c.Tool]++
		switch c.Tool {
		case "ask":
			out[i].Err = &eval.CallError{Code: "waiting", Wait: true, Final: true}
		case "pay":
			out[i].Err = &eval.CallError{Code: "denied (a b)", Deny: true}
		}
	}
	return out
}

// TestAHostileWorker lets workers do what they must not. Each costs its program, and nothing else: the host is not asked.
func TestAHostileWorker(t *testing.T) {
	answer := value.StringOf("let through", low)
	for _, test := range []struct {
		name string
		act  func(p *puppet)
		want string // of the outcome's text
		made int    // calls that the host was asked
	}{
		{"ends at once", func(p *puppet) {}, "the worker ended", 0},
		{"a frame of no kind", func(p *puppet) { p.raw(99) }, "frame 99: there is no such frame", 0},
		{"a frame of the zero kind", func(p *puppet) { p.raw(0) }, "frame 0: there is no such frame", 0},
		{"a frame that is the supervisor's", func(p *puppet) { p.raw(frameRun) }, "got run out of turn", 0},
		{"a second hello", func(p *puppet) { p.raw(frameHello) }, "got hello out of turn", 0},
		{"a frame that is too large", func(p *puppet) { p.rw.Write([]byte{0xff, 0xff, 0xff, 0xff, byte(frameDo)}) }, "do: 4294967295 bytes, the limit is", 0},
		{"an announcement without a body", func(p *puppet) { p.rw.Write([]byte{0, 0x3f, 0xff, 0xff, byte(frameDo)}) }, "the worker ended", 0},
		{"an empty body", func(p *puppet) { p.raw(frameDo) }, "do: a number that is cut off", 0},
		{"more labels than there can be", func(p *puppet) { p.raw(frameDo, 0xff, 0xff, 0xff, 0xff, 0xf, 1) }, "do: a list that is cut off", 0},
		{"a label that is none", func(p *puppet) { p.raw(frameDo, 1, 2, '[', ']', 0) }, "do: a label that is malformed", 0},
		{"bytes too many", func(p *puppet) {
			e := &encoder{}
			e.uint(1)
			c := call(nil)
			writeCall(e, &c)
			e.uint(0)
			p.raw(frameDo, e.body(0)...)
		}, "do: 1 bytes too many", 0},
		{"no calls", func(p *puppet) { p.do() }, "do: 0 calls at once", 0},
		{"too many calls", func(p *puppet) { p.do(make([]eval.Call, mostCalls+1)...) }, "do: 1025 calls at once", 0},
		{"a forged id", func(p *puppet) { p.do(call(func(c *eval.Call) { c.ID = "1.2" })) }, "do: a call whose id is not the next", 0},
		{"the id of another turn", func(p *puppet) { p.do(call(func(c *eval.Call) { c.ID = "2.1" })) }, "do: a call whose id is not the next", 0},
		{"an id twice", func(p *puppet) { p.do(call(nil)); p.c.receive(); p.do(call(nil)) }, "do: a call whose id is not the next", 1},
		{"an id twice in one batch", func(p *puppet) { p.do(call(nil), call(nil)) }, "do: a call whose id is not the next", 0},
		{"a strand's id twice", func(p *puppet) { p.do(strands("1.1.1", "1.1.1")...) }, "do: a call whose id is not the next", 0},
		{"strands out of order", func(p *puppet) { p.do(strands("1.1.2", "1.1.1")...) }, "do: a call whose id is not the next", 0},
		{"a strand that is another's", func(p *puppet) { p.do(strands("1.1.1", "1.1.1.1")...) }, "do: a call whose id is not the next", 0},
		{"a strand that was another's", func(p *puppet) { p.do(strands("1.1.1.2", "1.1.1")...) }, "do: a call whose id is not the next", 0},
		{"a strand of another wave", func(p *puppet) { p.do(strands("1.1.1", "1.2.2")...) }, "do: a call whose id is not the next", 0},
		{"a strand of a wave that was", func(p *puppet) { p.do(strands("1.1.1")...); p.c.receive(); p.do(strands("1.1.2")...) }, "do: a call whose id is not the next", 1},
		{"a strand without a number", func(p *puppet) { p.do(strands("1.1.")...) }, "do: a call whose id is not the next", 0},
		{"a strand that is nobody's", func(p *puppet) { p.do(strands("1.1.0")...) }, "do: a call whose id is not the next", 0},
		{"a strand with another's number in other words", func(p *puppet) { p.do(strands("1.1.1", "1.1.02")...) }, "do: a call whose id is not the next", 0},
		{"a strand beyond all numbers", func(p *puppet) { p.do(strands("1.1.99999999999999999999")...) }, "do: a call whose id is not the next", 0},
		{"more strands than there can be", func(p *puppet) { p.do(strands("1.1.1025")...) }, "do: a call whose id is not the next", 0},
		{"strands of strands without end", func(p *puppet) { p.do(strands("1.1" + strings.Repeat(".1", 501))...) }, "do: a call whose id is not the next", 0},
		{"a call beside strands", func(p *puppet) { p.do(strands("1.1", "1.1.1")...) }, "do: a call whose id is not the next", 0},
		{"an ask among strands", func(p *puppet) {
			c := strands("1.1.1", "1.0+1")
			c[1].Kind, c[1].Tool, c[1].Args = eval.KindBuiltin, "print", []eval.Arg{{Name: "args", Value: value.NoneOf(low)}}
			p.do(c...)
		}, "do: a call whose id is not the next", 0},
		{"an answer among strands", func(p *puppet) {
			c := strands("1.1.1", "1.1.2")
			c[1].Kind, c[1].Tool = eval.KindAnswer, "done"
			p.do(c...)
		}, "do: a call whose id is not the next", 0},
		{"more calls of strands than the limit allows", func(p *puppet) {
			var ids []string
			for i := range 11 {
				ids = append(ids, fmt.Sprintf("1.1.%d", i+1))
			}
			p.do(strands(ids...)...)
		}, "do: more calls than the limit allows", 0},
		{"strands that go on though one of them waits", func(p *puppet) {
			c := strands("1.1.1", "1.1.2")
			c[0].Tool = "ask"
			p.do(c...)
			p.c.receive()
			p.do(strands("1.2.2")...)
		}, "do: a call after the one that ended the program", 2},
		{"a kind that programs have not", func(p *puppet) { p.do(call(func(c *eval.Call) { c.Kind = "observe" })) }, "do: a call of no known kind", 0},
		{"a tool that the session has not", func(p *puppet) { p.do(call(func(c *eval.Call) { c.Tool = "files.write" })) }, "do: a call of a tool that the session has not", 0},
		{"a tool as a builtin", func(p *puppet) {
			p.do(call(func(c *eval.Call) {
				c.Kind, c.ID, c.Args = eval.KindBuiltin, "1.0+1", []eval.Arg{{Name: "args", Value: value.NoneOf(low)}}
			}))
		}, "do: an ask for no builtin", 0},
		{"a builtin with data", func(p *puppet) {
			p.do(call(func(c *eval.Call) {
				c.Kind, c.ID, c.Tool, c.Args = eval.KindBuiltin, "1.0+1", "print", []eval.Arg{{Name: "args", Value: answer}}
			}))
		}, "do: an ask for no builtin", 0},
		{"an answer of another name", func(p *puppet) { p.do(call(func(c *eval.Call) { c.Kind = eval.KindAnswer })) }, "do: a call whose kind and name differ", 0},
		{"an argument twice", func(p *puppet) {
			p.do(call(func(c *eval.Call) { c.Args = []eval.Arg{{Name: "x", Value: answer}, {Name: "x", Value: answer}} }))
		}, "do: an argument without a name of its own", 0},
		{"an argument that is no value", func(p *puppet) {
			p.do(call(func(c *eval.Call) { c.Args = []eval.Arg{{Name: "x"}} }))
		}, "do: an argument that is no value", 0},
		{"a place in another file", func(p *puppet) { p.do(call(func(c *eval.Call) { c.Site.File = "secret" })) }, "do: a place that is in no program", 0},
		{"a place account the program's end", func(p *puppet) { p.do(call(func(c *eval.Call) { c.Site.Line = 1000 })) }, "do: a place that is in no program", 0},
		{"more calls than the limit allows", func(p *puppet) {
			for i := range 11 {
				p.do(call(func(c *eval.Call) { c.ID = fmt.Sprintf("1.%d", i+1) }))
				p.c.receive()
			}
		}, "do: more calls than the limit allows", 10},
		{"a call after the one that ended the program", func(p *puppet) {
			p.do(call(func(c *eval.Call) { c.Tool = "ask" }))
			p.c.receive()
			p.do(call(func(c *eval.Call) { c.ID = "1.2" }))
		}, "do: a call after the one that ended the program", 1},
		{"many values in few bytes", func(p *puppet) {
			e := &encoder{}
			e.uint(1)
			e.text("1.1")
			e.text("tool")
			e.text("send")
			e.uint(1)
			e.text("x")
			e.uint(2)
			plain := "[" + strings.Repeat("0,", 1_000_000) + "0]"
			e.b = binary.BigEndian.AppendUint32(e.b, uint32(len(plain)))
			e.b = append(e.b, plain...)
			p.raw(frameDo, e.body(0)...)
		}, "do: more than there is room for", 0},
		{"no status", func(p *puppet) { p.end(eval.Outcome{}) }, "ended: no such status", 0},
		{"an answer that nobody let through", func(p *puppet) { p.end(eval.Outcome{Status: eval.Answered, Answer: &answer}) }, "ended: the calls that it made do not end a program so", 0},
		{"a refusal that nobody gave", func(p *puppet) { p.end(problem(eval.Denied, nil)) }, "ended: the calls that it made do not end a program so", 0},
		{"a wait for nobody", func(p *puppet) { p.end(problem(eval.Waiting, nil)) }, "ended: the calls that it made do not end a program so", 0},
		{"well, though it waits", func(p *puppet) {
			p.do(call(func(c *eval.Call) { c.Tool = "ask" }))
			p.c.receive()
			p.end(eval.Outcome{Status: eval.OK})
		}, "ended: the calls that it made do not end a program so", 1},
		{"well, with an error", func(p *puppet) { o := problem(eval.OK, nil); p.end(o) }, "ended: an error that does not fit its status", 0},
		{"badly, without an error", func(p *puppet) { p.end(eval.Outcome{Status: eval.Failed}) }, "ended: an error that does not fit its status", 0},
		{"an error of another status", func(p *puppet) { p.end(problem(eval.Failed, func(e *eval.Error) { e.Status = eval.Denied })) }, "ended: an error that does not fit its status", 0},
		{"a code that says more than a code", func(p *puppet) {
			p.end(problem(eval.Failed, func(e *eval.Error) { e.Code = "the secret is 4 711" }))
		}, "ended: an error of no known code", 0},
		{"a place that says more than a place", func(p *puppet) { p.end(problem(eval.Failed, func(e *eval.Error) { e.Site.Line = 4711 })) }, "ended: a place that is in no program", 0},
		{"a backtrace that says more than a place", func(p *puppet) {
			p.end(problem(eval.Failed, func(e *eval.Error) { e.Stack = []eval.Site{{File: "t.star", Line: 1, Column: 4711}} }))
		}, "ended: a place that is in no program", 0},
		{"more output than the limit allows", func(p *puppet) {
			p.end(eval.Outcome{Status: eval.OK, Prints: []eval.Print{{Text: strings.Repeat("x", 101), Site: eval.Site{File: "t.star", Line: 1, Column: 1}}}})
		}, "ended: more output than the limit allows", 0},
		{"names that no program can spell", func(p *puppet) { p.end(eval.Outcome{Status: eval.OK}, "a b") }, "ended: names that no program can spell", 0},
		{"counts that cannot be", func(p *puppet) { p.end(eval.Outcome{Status: eval.OK, Permits: map[string]int64{"no builtin": 1}}) }, "ended: counts that cannot be", 0},
		{"silence", func(p *puppet) { <-p.t.Context().Done() }, "wall budget used up", 0},
		{"silence after a call", func(p *puppet) { p.do(call(nil)); p.c.receive(); <-p.t.Context().Done() }, "wall budget used up", 1},
		{"reads nothing", func(p *puppet) { p.do(call(nil)); <-p.t.Context().Done() }, "wall budget used up", 1},
		{"asks without end", func(p *puppet) {
			for i := 0; ; i++ {
				p.do(call(func(c *eval.Call) {
					c.Kind, c.Tool, c.ID, c.Args = eval.KindBuiltin, "print", fmt.Sprintf("1.0+%d", i+1), []eval.Arg{{Name: "args", Value: value.NoneOf(low)}}
				}))
				if _, _, err := p.c.receive(); err != nil {
					return
				}
			}
		}, "do: more asks than the program can have steps", 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &counter{map[string]int{}}
				link := serveWith(t, func(rw io.ReadWriter) error {
					p := &puppet{t, rw, newConn(rw)}
					p.hello()
					test.act(p)
					return nil
				})
				s, err := openOn(link, Config{Config: eval.Config{Host: host, Tools: worldTools, Limits: eval.Limits{Memory: 1 << 20, Calls: 10, Output: 100, Steps: 500}}})
				if err != nil {
					t.Fatal(err)
				}
				out, err := s.Exec(t.Context(), "t.star", "x = 1", low, eval.Past{})
				if err != nil || out.Err == nil || !strings.Contains(out.Err.Text, test.want) || out.Status != eval.Crashed && out.Status != eval.Limited {
					t.Errorf("got %+v, %v, %v, want %s", out, out.Err, err, test.want)
				}
				made := 0
				for _, n := range host.calls {
					made += n
				}
				if made != test.made {
					t.Errorf("the host was asked %d calls, want %d", made, test.made)
				}
				again, err := s.Exec(t.Context(), "t.star", "x = 1", low, eval.Past{})
				if err != nil || again.Status != eval.Crashed || again.Err.Code != codeWorker {
					t.Errorf("afterwards: got %+v, %v", again, err)
				}
				if _, err := s.Get("x"); err == nil {
					t.Error("afterwards: a value of a session that has no worker")
				}
			})
		})
	}
}

// TestTheAnswerIsWhatWasLetThrough has a worker say that it answered something else.
func TestTheAnswerIsWhatWasLetThrough(t *testing.T) {
	lie := value.StringOf("a lie", low)
	link := serveWith(t, func(rw io.ReadWriter) error {
		p := &puppet{t, rw, newConn(rw)}
		p.hello()
		p.do(call(func(c *eval.Call) {
			c.Kind, c.Tool, c.Args = eval.KindAnswer, "done", []eval.Arg{{Name: "value", Value: value.StringOf("the truth", low)}}
		}))
		p.c.receive()
		p.end(eval.Outcome{Status: eval.Answered, Answer: &lie, Calls: 99, Duration: time.Hour})
		p.c.receive()
		return nil
	})
	s, err := openOn(link, Config{Config: eval.Config{Host: &counter{map[string]int{}}, Tools: worldTools}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Exec(t.Context(), "t.star", "done(1)", low, eval.Past{})
	if err != nil || out.Status != eval.Answered || out.Answer.Str != "the truth" || out.Calls != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// judge records the labels of the calls that it is asked.
type judge struct{ labels []string }

func (h *judge) Do(_ context.Context, calls []eval.Call) []eval.Result {
	out := make([]eval.Result, len(calls))
	for i, c := range calls {
		h.labels = append(h.labels, c.PC.String()+" "+c.History.String())
		for _, a := range c.Args {
			h.labels = append(h.labels, a.Value.Deep().String())
		}
		out[i].Value = value.StringOf("page", label.New(label.Untrusted, label.Only("ana", "bob"), nil))
	}
	return out
}

// TestNoLabelIsBelieved has a worker say that everything is trusted and public, under labels: floor.
func TestNoLabelIsBelieved(t *testing.T) {
	high := label.New(label.System, label.Public(), nil)
	link := serveWith(t, func(rw io.ReadWriter) error {
		p := &puppet{t, rw, newConn(rw)}
		p.hello()
		lie := value.ListOf(high, value.StringOf("secret", high))
		for i := range 2 {
			p.do(call(func(c *eval.Call) {
				c.ID, c.PC, c.History, c.Args = fmt.Sprintf("1.%d", i+1), high, high, []eval.Arg{{Name: "x", Value: lie}}
			}))
			p.c.receive()
		}
		p.end(eval.Outcome{
			Status: eval.Failed, Floor: high, History: high, Rises: []eval.Rise{{Floor: high}},
			Err:    &eval.Error{Status: eval.Failed, Code: "a", Label: high, Text: "secret", Hint: "secret"},
			Prints: []eval.Print{{Text: "secret", Label: high, PC: high, Args: []value.Value{lie}, Site: eval.Site{File: "t.star", Line: 1}}},
		}, "x")
		p.c.receive()
		got := answer{v: lie}
		p.c.send(frameValue, got.write)
		p.c.receive()
		return nil
	})
	host := &judge{}
	input := eval.Input{Name: "s", Value: value.StringOf("secret", label.New(label.User, label.Only("ana"), nil))}
	s, err := openOn(link, Config{Config: eval.Config{Host: host, Tools: worldTools, Inputs: []eval.Input{input}}, Floor: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Exec(t.Context(), "t.star", "send(s)", low, eval.Past{})
	if err != nil {
		t.Fatal(err)
	}
	first, then := "user/{ana}", "untrusted/{ana}"
	want := []string{first + " " + first, first, then + " " + then, then}
	if got := strings.Join(host.labels, ", "); got != strings.Join(want, ", ") {
		t.Errorf("the host was told %s, want %s", got, want)
	}
	if s.Floor().String() != then {
		t.Errorf("the floor is %s, want %s", s.Floor(), then)
	}
	v, err := s.Get("x")
	for what, l := range map[string]label.Label{
		"floor": out.Floor, "history": out.History, "rise": out.Rises[0].Floor, "error": out.Err.Label, "print": out.Prints[0].Label, "pc of a print": out.Prints[0].PC,
		"argument of a print": out.Prints[0].Args[0].Deep(), "value": v.Deep(),
	} {
		if l.String() != then || err != nil {
			t.Errorf("%s: got %s, %v, want %s", what, l, err, then)
		}
	}
	if out.Err.Hint != "" || out.Err.Advice != "secret" {
		t.Errorf("the hint is %q, the advice %q: what may hold data must be under a label", out.Err.Hint, out.Err.Advice)
	}
}

// TestCancelling ends a program whose worker heeds it, and one whose does not.
func TestCancelling(t *testing.T) {
	s, err := openPipe(t, Config{Config: eval.Config{Host: newWorld(), Tools: worldTools, Limits: eval.Limits{Steps: 1 << 60, Calls: 1 << 30}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"while True: pass", "send(\"a\", 1)\nwhile True: pass", "while True: send(\"a\", 1)", "y = [sorted(range(1000))[0] for i in range(1 << 40)]"} {
		for _, after := range []time.Duration{0, 100 * time.Microsecond, 20 * time.Millisecond} { // before something reads beside the program, and while it does
			ctx, cancel := context.WithCancel(t.Context())
			if after == 0 {
				cancel()
			}
			time.AfterFunc(after, cancel)
			out, err := s.Exec(ctx, "t.star", "x = 1\n"+program, low, eval.Past{})
			if err != nil || out.Status != eval.Cancelled || out.Err.Code != "cancelled" {
				t.Errorf("%s, after %v: got %+v, %v", program, after, out, err)
			}
			out, err = s.Exec(t.Context(), "u.star", "y = 1", low, eval.Past{})
			if err != nil || out.Status != eval.OK {
				t.Errorf("%s: afterwards: got %+v, %v: a worker that heeds a cancellation goes on", program, out, err)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		link := serveWith(t, func(rw io.ReadWriter) error {
			p := &puppet{t, rw, newConn(rw)}
			p.hello()
			p.c.receive()
			<-t.Context().Done()
			return nil
		})
		s, err := openOn(link, Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out, err := s.Exec(ctx, "t.star", "x = 1", low, eval.Past{})
		if err != nil || out.Status != eval.Cancelled || out.Err.Code != "cancelled" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}
