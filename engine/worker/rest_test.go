package worker

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// restless lets the worker's session of a pair rest before every turn. The session does not do so by itself.
func (p *pair) restless(cfg eval.Config) {
	p.far.restAfter(time.Hour, start{limits: p.far.limits, tools: cfg.Tools, inputs: cfg.Inputs}, func(context.Context) (*greeted, error) {
		link := serveWith(p.t, func(rw io.ReadWriter) error { return Serve(rw, nil) })
		c := newConn(link)
		_, err := greet(c)
		return &greeted{link: link, c: c}, err
	})
	p.rests = true
}

// TestARestIsNotSeen has sessions rest after every turn, and compares them with one in this process that never does.
func TestARestIsNotSeen(t *testing.T) {
	secret := label.New(label.User, label.Only("ana"), []string{"pii"}, label.Source{Tool: "input", Of: "a"})
	cfg := eval.Config{Tools: worldTools, Inputs: []eval.Input{{Name: "a", Value: value.StringOf("x\x00", secret)}}, Limits: eval.Limits{Calls: 30, Output: 2000, Memory: 4 << 20}}
	p := newPair(t, cfg, newWorld)
	p.restless(cfg)
	rests := 0
	for i, turn := range []string{
		"x = {1: (a, b\"\\xff\"), 2.5: [None, True, 1 << 70]}\ndef f(): return x\nprint(x)",
		"y = f()\ny[1] = [y]\nm = mail(1)\nif m[\"kind\"]: send(1)\nx[2] = m",
		"print(1)\nparallel([lambda: recv(), lambda: recv()])\nsorted([2, 1])",
		"no program",
		"def g(n): return 1 // n\ng(0)",
		"pay(a)",
		"def counter():\n  n = [0]\n  def next():\n    n[0] += 1\n    return n[0]\n  return next\nnext = counter()\nprint(next(), next())",
		"print(next(), y[1][0] == y, x)",
		"e = endorse(a[:1], trust = \"user\", options = [\"x\", \"y\"])\nsend(e)",
		"for i in range(10): print(\"y\" * 100)",
		"ask(1)",
		"while True: pass",
		"b = [0] * 200_000",
		"b2 = list(b)\nb3 = list(b)\nb4 = list(b)",
		"[recv() for i in range(100)]",
		"send(next())",
		"done(x)",
		"print(float(\"nan\"), next())",
		"for i in range(20): print(\"y\" * 100)",
	} {
		p.far.lieDown()
		if p.far.rest.resting {
			rests++
		}
		p.turn("t"+string(rune('a'+i))+".star", turn, low)
	}
	p.far.lieDown()
	p.values()
	p.far.lieDown()
	refused := &eval.CallError{Code: "denied (program.untrusted)", Text: "no", Label: low, Deny: true}
	p.local.Refuse(refused, "t.star", low)
	if out := p.far.Refuse(refused, "t.star", low); out.Status != eval.Denied {
		t.Errorf("got %+v", out)
	}
	p.turn("after.star", "print(next())", label.Top())
	p.far.lieDown()
	b, err1 := p.far.Snapshot(0)
	b2, err2 := p.local.Snapshot(0)
	if err1 != nil || err2 != nil || string(b) != string(b2) {
		t.Errorf("the snapshots differ: %d and %d bytes, %v, %v", len(b), len(b2), err1, err2)
	}
	if rests < 15 {
		t.Errorf("the session rested %d times", rests)
	}
}

// TestNoWorkerToGoOnIn loses the session, and says why.
func TestNoWorkerToGoOnIn(t *testing.T) {
	for _, test := range []struct {
		name  string
		again func(context.Context) (*greeted, error)
		want  string
	}{
		{"none can be had", func(context.Context) (*greeted, error) { return nil, errors.New("no more processes") }, "there is no worker to go on in: no more processes"},
		{"one that makes another session", func(context.Context) (*greeted, error) {
			link := serveWith(t, func(rw io.ReadWriter) error {
				p := &puppet{t, rw, newConn(rw)}
				p.hello()
				return nil
			})
			c := newConn(link)
			_, err := greet(c)
			return &greeted{link: link, c: c}, err
		}, "started: it is another session than the one that was written"},
	} {
		s, err := openPipe(t, Config{Config: eval.Config{Host: newWorld(), Tools: worldTools}})
		if err != nil {
			t.Fatal(err)
		}
		s.restAfter(time.Hour, start{limits: s.limits, tools: worldTools}, test.again)
		if out, err := s.Exec(t.Context(), "a.star", "x = 1", low, eval.Past{}); err != nil || out.Err != nil {
			t.Fatal(out.Err, err)
		}
		s.lieDown()
		for range 2 {
			out, err := s.Exec(t.Context(), "b.star", "print(x)", low, eval.Past{})
			if err != nil || out.Status != eval.Crashed || out.Err.Code != codeWorker || !strings.Contains(out.Err.Text, test.want) {
				t.Errorf("%s: got %+v, %v, want %q", test.name, out.Err, err, test.want)
			}
		}
		s.Close()
	}
}
