package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/syntax"
)

// hostile reads a file of testdata/hostile. Its line "# gen-json: [prefix, repeat, n, middle, repeat2]"
// stands for prefix + repeat*n + middle + repeat2*n. At most most bytes are made, by a smaller n.
func hostile(t testing.TB, file string, most int) []byte {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, gen, ok := strings.Cut(string(data), "# gen-json: ")
	if !ok {
		t.Fatalf("%s: no gen-json", file)
	}
	var prefix, repeat, middle, repeat2 string
	var n int
	if err := json.Unmarshal([]byte(gen), &[]any{&prefix, &repeat, &n, &middle, &repeat2}); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	n = min(n, (most-len(prefix)-len(middle))/(len(repeat)+len(repeat2)))
	return []byte(prefix + strings.Repeat(repeat, n) + middle + strings.Repeat(repeat2, n))
}

// scale divides the sizes of hostile programs, and how many random ones there are.
var scale = 1

// TestHostileProgramsAreRefusedInLinearTime bounds the time generously: what is quadratic takes minutes.
func TestHostileProgramsAreRefusedInLinearTime(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		for _, run := range []struct {
			name   string
			most   int
			limits Limits
		}{
			{"as large as the defaults let through", defaultBytes, Limits{}},
			{"larger, with every limit as high as it goes", 3 << 20, Limits{Bytes: 1 << 30, Tokens: 1 << 30, Depth: 1 << 30}},
		} {
			t.Run(filepath.Base(file)+"/"+run.name, func(t *testing.T) {
				src := hostile(t, file, run.most/scale)
				begin := time.Now()
				_, err := Parse("x.star", src, run.limits)
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("took %v for %d bytes", took, len(src))
				}
				var errs Errors
				if !errors.As(err, &errs) {
					t.Fatalf("accepted")
				}
				if len(errs) > mostErrors+1 {
					t.Errorf("%d errors, want at most %d", len(errs), mostErrors+1)
				}
				for _, e := range errs {
					if e.Line < 1 || e.Column < 1 || len(e.Message) > 300 || len(e.Hint) > 300 || strings.Contains(e.Message, "internal") {
						t.Errorf("error %+v", e)
					}
				}
			})
		}
	}
}

func TestEachLimitIsReportedWhereItIsPassed(t *testing.T) {
	for _, test := range []struct {
		name   string
		src    string
		limits Limits
		want   string // a part of the only error, or "" if there is none
	}{
		{"as many bytes as allowed", "x = 1", Limits{Bytes: 5}, ""},
		{"a byte more", "x = 12", Limits{Bytes: 5}, "x.star:1:1: source of 6 bytes, want at most 5"},
		{"a megabyte by default", strings.Repeat("#", 1<<20), Limits{}, ""},
		{"more than a megabyte", strings.Repeat("#", 1<<20+1), Limits{}, "x.star:1:1: source of 1048577 bytes, want at most 1048576"},
		{"as many tokens as allowed, with those for the line and the file", "x = 1\n", Limits{Tokens: 5}, ""},
		{"a token more", "x = 1\ny", Limits{Tokens: 5}, "x.star:2:2: more than 5 tokens"},
		{"two hundred thousand tokens by default", strings.Repeat(";", 200_001), Limits{}, "x.star:1:200001: more than 200000 tokens"},
		{"as deep as allowed", "x = 1 + 1", Limits{Depth: 3}, ""},
		{"a level more", "x = 1 + 1 + 1", Limits{Depth: 3}, "x.star:1:14: nested too deep: more than 3 levels"},
		{"two hundred levels by default", "x = " + strings.Repeat("(", 198) + "1" + strings.Repeat(")", 198), Limits{}, ""},
		{"more than two hundred levels", "x = " + strings.Repeat("(", 199) + "1" + strings.Repeat(")", 199), Limits{}, "nested too deep: more than 200 levels"},
		{"a long chain of elif", "if x: pass\n" + strings.Repeat("elif x: pass\n", 200), Limits{}, "x.star:201:6: nested too deep"},
		{"as many blocks as allowed", blocks(99), Limits{Depth: 100}, ""},
		{"a block too many", blocks(100), Limits{Depth: 100}, "nested too deep"},
		{"a depth above the greatest is the greatest", "x = " + strings.Repeat("- ", 1000) + "1", Limits{Depth: 1 << 30}, "nested too deep: more than 1000 levels"},
		{"an int as wide as allowed", "x = 0x" + strings.Repeat("f", 131072), Limits{}, ""},
		{"an int a digit wider", "x = 0x1" + strings.Repeat("f", 131072), Limits{}, "got 131073 digits, want an int of at most 64 KiB"},
		{"a decimal int as wide as allowed", "x = " + strings.Repeat("9", mostIntDigits), Limits{}, ""},
		{"a decimal int a digit wider", "x = " + strings.Repeat("9", mostIntDigits+1), Limits{}, "got 157827 digits, want an int of at most 64 KiB"},
		{"an octal int too wide", "x = 0o" + strings.Repeat("7", 200_000), Limits{}, "want an int of at most 64 KiB"},
		{"a binary int too wide", "x = 0b" + strings.Repeat("1", 600_000), Limits{}, "want an int of at most 64 KiB"},
		{"a million spaces in a line", "x =" + strings.Repeat(" ", 1_000_000) + "1", Limits{}, ""},
		{"a string of a million bytes", "x = '" + strings.Repeat("a", 1_000_000) + "'", Limits{}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("x.star", []byte(test.src), test.limits)
			if test.want == "" {
				if err != nil {
					t.Errorf("got error %v", err)
				}
				return
			}
			var errs Errors
			if !errors.As(err, &errs) || len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// blocks returns n ifs within one another.
func blocks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sif x:\n", strings.Repeat(" ", i))
	}
	return b.String() + strings.Repeat(" ", n) + "pass\n"
}

// TestNoTreeIsDeeperThanItsLimit measures trees. A tree of height h must not pass a limit of h-1.
func TestNoTreeIsDeeperThanItsLimit(t *testing.T) {
	programs := map[string][]byte{"sample": []byte(sample), "ten lines": []byte(tenLines)}
	for name, chunk := range stockChunks(t) {
		programs[name] = chunk
	}
	files, err := filepath.Glob("testdata/hostile/*.star")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		programs[file] = hostile(t, file, 500)
	}
	for name, src := range programs {
		f, err := Parse("x.star", src, Limits{Depth: 1000})
		if err != nil {
			continue
		}
		h := height(f)
		if _, err := Parse("x.star", src, Limits{Depth: h - 1}); h > 1 && err == nil {
			t.Errorf("%s: a tree of height %d passes a limit of %d", name, h, h-1)
		}
	}
}

// height returns how many nodes there are on the longest way down from a statement of the file.
func height(f *syntax.File) int {
	depth, most := -1, 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
		} else {
			depth++
			most = max(most, depth)
		}
		return true
	})
	return most
}

// TestLongIntLiteralsAreRead compares with a reading by the schoolbook.
func TestLongIntLiteralsAreRead(t *testing.T) {
	for _, n := range []int{1, 18, 19, 20, 1023, 1024, 1025, 2048, 2049, 5000, 40_000} {
		text := strings.Repeat("9081726354", n/10+1)[:n]
		want, _ := new(big.Int).SetString(text, 10)
		f, err := Parse("x.star", []byte(text), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got *big.Int
		switch v := f.Stmts[0].(*syntax.ExprStmt).X.(*syntax.Literal).Value.(type) {
		case int64:
			got = big.NewInt(v)
		case *big.Int:
			got = v
		}
		if got.Cmp(want) != 0 {
			t.Errorf("%d digits: wrong value", n)
		}
	}
}
