package eval

import (
	"strings"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
)

// BenchmarkRegularExpressions runs simple patterns over a text of 1 MB.
func BenchmarkRegularExpressions(b *testing.B) {
	text := strings.Repeat("The quick brown fox 12345 jumps over ana@corp.example, and 67 lazy dogs; ERROR: timeout=30s\n", 1<<20/95)
	for _, test := range []struct{ name, expr string }{
		{"findall numbers", `re.findall(r"\d+", s)`}, {"findall words", `re.findall(r"\w+", s)`}, {"findall addresses", `re.findall(r"[\w.]+@[\w.]+", s)`}, {"findall groups", `re.findall(r"(\w+)=(\d+)", s)`},
		{"findall literal", `re.findall("ERROR: (.*)", s)`}, {"sub spaces", `re.sub(r"\s+", " ", s)`}, {"sub with groups", `re.sub(r"(\d+)s", r"<\1>", s)`}, {"split", `re.split(r"[,;]\s*", s)`},
		{"search for what is not there", `re.search("(?i)zebra", s)`}, {"finditer", `len(re.finditer("fox|dogs", s))`},
	} {
		b.Run(test.name, func(b *testing.B) {
			k := newChecker(b, Limits{Steps: 1e12, Memory: 1 << 30}, Input{"s", value.StringOf(text, label.Bottom())})
			k.run("t", "import re")
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				k.run("t", "r = "+test.expr)
			}
		})
	}
}
