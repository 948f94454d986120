package eval

import (
	"context"
	"fmt"
	"testing"
	"time"

	"callgate/engine/label"
	"callgate/engine/value"
)

type fakeHost struct{ calls []Call }

func (h *fakeHost) Do(_ context.Context, cs []Call) []Result {
	h.calls = append(h.calls, cs...)
	out := make([]Result, len(cs))
	for i := range out {
		out[i].Value = value.NoneOf(label.Bottom())
	}
	return out
}

func runSrc(t testing.TB, src string) (Outcome, *Session, *fakeHost) {
	h := &fakeHost{}
	s, err := NewSession(Config{Host: h, Tools: []ToolSig{{Name: "mail.send", Params: []string{"to", "body"}}}, Limits: Limits{Steps: 1e9}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile("t.star", []byte(src), s.Env())
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(context.Background(), p, label.Bottom())
	if err != nil {
		t.Fatal(err)
	}
	return o, s, h
}

func TestSmoke(t *testing.T) {
	o, _, h := runSrc(t, `
def fib(n):
    if n < 2: return n
    return fib(n-1) + fib(n-2)
x = [i*i for i in [1,2,3] if i != 2]
y = {"a": 1, "b": x}
y["c"] = (1, 2.5, "s" + "t")
for k in y:
    print(k, y[k], fib(10))
a, (b, c) = 1, (2, 3)
n = 0
while n < 5:
    n += 1
    if n == 3: break
print(a, b, c, n, -7 // 2, -7 % 3, 1 << 70, x[1:], "abc"[::-1])
mail.send("bob", body = y)
1 // 0
`)
	for _, p := range o.Prints {
		fmt.Print(p.Text, p.Label, "\n")
	}
	fmt.Println(o.Status, o.Err, o.Steps, o.Peak, len(h.calls))
	if o.Err != nil && o.Err.Detail != "" {
		fmt.Println(o.Err.Detail)
	}
}

func TestFibTime(t *testing.T) {
	start := time.Now()
	o, _, _ := runSrc(t, `
def fib(n):
    if n < 2: return n
    return fib(n-1) + fib(n-2)
x = fib(27)
`)
	fmt.Println(time.Since(start), o.Status, o.Err, o.Steps)
	start = time.Now()
	o, _, _ = runSrc(t, `
def f():
    n = 0
    i = 0
    while i < 1000000:
        n = n + i
        i += 1
    return n
x = f()
`)
	fmt.Println(time.Since(start), o.Status, o.Err, o.Steps)
}
