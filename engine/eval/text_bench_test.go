package eval

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// BenchmarkText runs each expression in a loop of the language, on a mebibyte of JSON or on short strings.
func BenchmarkText(b *testing.B) {
	var rows []string
	for i := range 7000 {
		rows = append(rows, fmt.Sprintf(`{"id": %d, "name": "customer %d", "amount": %d.25, "paid": true, "tags": ["a", "b%d"], "note": "line\n\u00e9 %d", "parent": null}`, i, i*7, i*13, i, i))
	}
	doc := "[" + strings.Join(rows, ",\n") + "]"
	for _, expr := range []string{
		"json.decode(doc)", "json.encode(data)", "json.dumps(data)", "json.indent(doc)", "doc.split()", `doc.split(",")`, `doc.splitlines()`, `doc.upper()`,
		`doc.replace("customer", "client")`, `"a,bb,ccc,dddd".split(",")`, `"a bb ccc dddd".split()`, `",".join(words)`, `"%s is %d" % ("abc", 42)`,
		`"{} is {:>8.2f}".format("abc", 42.5)`, `" abc ".strip()`, `"hello world".find("wor")`, `"Hello".lower()`, `"hello world".startswith("hello")`, `"hello".replace("l", "L")`, `repr(data)`,
	} {
		b.Run(expr, func(b *testing.B) {
			s, err := NewSession(Config{Host: &recorder{}, Limits: Limits{Steps: 1e15, Memory: 1 << 30, Wall: 1 << 62}, Inputs: []Input{{"doc", value.StringOf(doc, label.Bottom())}}})
			if err != nil {
				b.Fatal(err)
			}
			run := func(src string) {
				p, err := Compile("t.star", []byte(src), s.Env())
				if err != nil {
					b.Fatal(err)
				}
				if out, err := s.Run(context.Background(), p, label.Bottom()); err != nil || out.Err != nil {
					b.Fatal(err, out.Err)
				}
			}
			run("data = json.decode(doc)\nwords = doc.split()[:20]\n")
			b.ResetTimer()
			run(fmt.Sprintf("def f():\n    for _ in range(%d):\n        %s\nf()\n", b.N, expr))
		})
	}
}
