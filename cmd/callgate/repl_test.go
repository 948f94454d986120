package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"callgate/builtins"
)

func TestProgramsOfAPipe(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"lines", "a\nb\n", []string{"a", "b"}},
		{"no end", "a", []string{"a"}},
		{"a block ends before what is not indented", "if x:\n  a\n\n  b\nelse:\n  c\nd\n", []string{"if x:\n  a\n\n  b\nelse:\n  c", "d"}},
		{"a block ends with the input", "def f():\n  a", []string{"def f():\n  a"}},
		{"a block ends before a command", "def f():\n  a\n:labels\n", []string{"def f():\n  a", ":labels"}},
		{"brackets", "f(\n1,\n\n2)\nb\n", []string{"f(\n1,\n\n2)", "b"}},
		{"a text of several lines", "x = '''\na\n:b\n'''\nc\n", []string{"x = '''\na\n:b\n'''", "c"}},
		{"what is not closed", "f(\na\n", []string{"f(\na"}},
		{"carriage returns", "a\r\nb\r\n", []string{"a", "b"}},
		{"a try", "try:\n  a\nexcept ValueError:\n  b\nfinally:\n  c\nelsewhere\n", []string{"try:\n  a\nexcept ValueError:\n  b\nfinally:\n  c", "elsewhere"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := newTyped(strings.NewReader(test.in))
			var got []string
			for {
				text, err := in.program()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A read that is given up leaves what comes to the next one.
func TestTypedIsNotLost(t *testing.T) {
	r, w := io.Pipe()
	in := newTyped(r)
	ctx, cancel := context.WithCancel(t.Context())
	in.within(ctx)
	failed := make(chan error)
	go func() {
		_, err := in.Read(make([]byte, 10))
		failed <- err
	}()
	cancel()
	if err := <-failed; err != context.Canceled {
		t.Fatalf("got %v, want that the read was given up", err)
	}
	in.within(t.Context())
	go func() {
		io.WriteString(w, "here\n")
		w.Close()
	}()
	if line, err := in.line(); line != "here" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	if _, err := in.line(); err != io.EOF {
		t.Errorf("got %v, want the end", err)
	}
}

func TestCompletion(t *testing.T) {
	tools := new(builtins.Set)
	for _, tool := range []*builtins.Tool{
		{Name: "mail.read", Params: []builtins.Param{{Name: "id"}}}, {Name: "mail.send", Params: []builtins.Param{{Name: "to"}, {Name: "body"}}}, {Name: "now"},
	} {
		tool.Run = func(context.Context, *builtins.Invocation) (any, error) { return nil, nil }
		if err := tools.Add(tool); err != nil {
			t.Fatal(err)
		}
	}
	n := completions{tools: tools, known: []string{"mail.read", "mail.send", "now", "total", "none", "break"}}
	for _, test := range []struct {
		line  string
		begin int
		want  string
	}{
		{"m", 0, "mail."},
		{"x = ma", 4, "mail."},
		{"mail.", 0, "mail.read( mail.send("},
		{"mail.s", 0, "mail.send("},
		{"no", 0, "none now("},
		{"mail.send(t", 10, "to= total"},
		{"mail.send(to = f(1), b", 21, "body="},
		{"b", 0, "break"},
		{"f(mail.send(), t", 15, "total"},
		{":ex", 1, "explain"},
		{":labels to", 8, "total"},
		{"zzz", 0, ""},
	} {
		begin, got := n.complete(test.line)
		if begin != test.begin || strings.Join(got, " ") != test.want {
			t.Errorf("%q: got %d, %q; want %d, %q", test.line, begin, strings.Join(got, " "), test.begin, test.want)
		}
	}
}
