package eval

import (
	"context"
	"testing"

	"callgate/engine/label"
)

// BenchmarkTry says what a try costs that nothing fails in, one that catches an error, and a call that is watched.
func BenchmarkTry(b *testing.B) {
	for _, test := range []struct{ name, program string }{
		{"plain", "def f(x): return x + 1\ndef run():\n  for i in range(1000): f(i)\nrun()"},
		{"a try around each", "def f(x): return x + 1\ndef run():\n  for i in range(1000):\n    try: f(i)\n    except ValueError: pass\nrun()"},
		{"a try around all", "def f(x): return x + 1\ndef run():\n  try:\n    for i in range(1000): f(i)\n  except ValueError: pass\nrun()"},
		{"an error each", "def run():\n  for i in range(1000):\n    try: i // 0\n    except ZeroDivisionError: pass\nrun()"},
		{"an error each, from a call", "def f(x): return x // 0\ndef run():\n  for i in range(1000):\n    try: f(i)\n    except ZeroDivisionError as e: pass\nrun()"},
	} {
		b.Run(test.name, func(b *testing.B) {
			s, err := NewSession(Config{Host: &recorder{}})
			if err != nil {
				b.Fatal(err)
			}
			p, err := Compile("x.star", []byte(test.program), s.Env())
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if o, err := s.Run(context.Background(), p, label.Bottom()); err != nil || o.Err != nil {
					b.Fatal(err, o.Err)
				}
			}
		})
	}
}
