package worker

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/engine/eval"
	"callgate/engine/label"
	"callgate/engine/value"
)

// transcript returns what a supervisor writes, and an honest worker, in a session of three turns.
func transcript(t testing.TB) (fromSupervisor, fromWorker []byte) {
	var in, out bytes.Buffer
	link := serveWith(t, func(rw io.ReadWriter) error {
		return Serve(struct {
			io.Reader
			io.Writer
		}{io.TeeReader(rw, &in), io.MultiWriter(rw, &out)}, []string{"seccomp"})
	})
	s, err := openOn(link, Config{Config: eval.Config{Host: newWorld(), Tools: worldTools, Inputs: []eval.Input{{Name: "a", Value: value.StringOf("x", low)}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"x = mail(1)\nprint(x, a)\nf = lambda: 1 // 0\nf()", "no program", "done(x)"} {
		if _, err := s.Exec(context.Background(), "t.star", src, low, eval.Past{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Get("x")
	s.Snapshot(0)
	s.Close()
	<-link.done
	return in.Bytes(), out.Bytes()
}

// replay reads what was recorded and forgets what is written.
type replay struct{ *bytes.Reader }

func (replay) Write(b []byte) (int, error) { return len(b), nil }
func (replay) Kill()                       {}
func (replay) Ended() string               { return "" }

// FuzzSupervisor has a worker send any bytes. The host is asked no more than the limits allow.
func FuzzSupervisor(f *testing.F) {
	_, honest := transcript(f)
	f.Add(honest)
	f.Fuzz(func(t *testing.T, b []byte) {
		host := &counter{map[string]int{}}
		s, err := openOn(replay{bytes.NewReader(b)}, Config{Config: eval.Config{Host: host, Tools: worldTools, Limits: eval.Limits{Calls: 20, Steps: 1000, Memory: 1 << 20}}})
		if err != nil {
			return
		}
		for range 3 {
			out, err := s.Exec(t.Context(), "t.star", "x = mail(1)\nprint(x, a)\nf = lambda: 1 // 0\nf()", low, eval.Past{})
			if err != nil {
				t.Fatal(err)
			}
			if (out.Err == nil) != (out.Status == eval.OK || out.Status == eval.Answered) {
				t.Errorf("got %+v", out)
			}
		}
		s.Get("x")
		s.Snapshot(0)
		made := 0
		for tool, n := range host.calls {
			if !eval.Builtin(tool) {
				made += n
			}
		}
		if made > 20 {
			t.Errorf("the host was asked %d calls", made)
		}
	})
}

// FuzzWorker sends a worker any bytes.
func FuzzWorker(f *testing.F) {
	honest, _ := transcript(f)
	f.Add(honest)
	f.Fuzz(func(t *testing.T, b []byte) {
		Serve(replay{bytes.NewReader(b)}, nil)
	})
}

// FuzzFrames reads any bytes as each message. What can be read is read the same again after it was written.
func FuzzFrames(f *testing.F) {
	var e encoder
	c := call(func(c *eval.Call) {
		c.Args = []eval.Arg{{Name: "x", Value: value.ListOf(low, value.FloatOf(1.5, label.Top()), value.StringOf("a", low))}}
	})
	writeCall(&e, &c)
	f.Add(byte(0), e.body(0))
	type message interface {
		write(*encoder)
		read(*decoder)
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		fresh := func() message {
			return []message{&ended{}, &start{}, &started{}, &answer{}, &blob{}, &hello{}, &program{}, &refusal{}, &one{}}[which%9]
		}
		var cache labelCache
		m := fresh()
		d := newDecoder(b, 1<<20, &cache)
		m.read(d)
		if d.end() != nil {
			return
		}
		var e encoder
		m.write(&e)
		again := fresh()
		d = newDecoder(e.body(0), 1<<21, &cache)
		again.read(d)
		if err := d.end(); err != nil {
			t.Fatalf("%T cannot be read again: %v", m, err)
		}
		all := cmp.Options{sameOptions, cmp.Exporter(func(reflect.Type) bool { return true })}
		if diff := cmp.Diff(m, again, all); diff != "" {
			t.Errorf("%T differs: %s", m, diff)
		}
	})
}

// one is a call and a result, as a message.
type one struct {
	c eval.Call
	r eval.Result
}

func (m *one) write(e *encoder) {
	writeCall(e, &m.c)
	writeResult(e, &m.r)
}

func (m *one) read(d *decoder) { m.c, m.r = readCall(d), readResult(d) }
