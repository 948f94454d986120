package std

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCSVRead(t *testing.T) {
	env := place(t, map[string]string{
		"vendors.csv":   "id,name\nV-1,\"Fils, Boulanger\"\nV-2,Müller\n",
		"crlf.csv":      "\ufeffa,b\r\n1,2\r\n",
		"semicolon.csv": "a;b\n1,5;2\n",
		"header.csv":    "a,b\n",
		"empty.csv":     "",
		"ragged.csv":    "a,b\n1,2\n3\n",
		"twice.csv":     "a,a\n1,2\n",
		"unnamed.csv":   "a,\n1,2\n",
		"quote.csv":     "a,b\n\"x,2\n",
		"latin.csv":     "a\n\xe9\n",
		"../out.csv":    "a\n1\n",
	})
	k := build(t, "csv", env, map[string]any{"root": ".", "trust": "internal"})
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"rows in the order of the columns", map[string]any{"path": "vendors.csv"}, `[{"id": "V-1", "name": "Fils, Boulanger"}, {"id": "V-2", "name": "Müller"}]`},
		{"a byte order mark and CR LF", map[string]any{"path": "crlf.csv"}, `[{"a": "1", "b": "2"}]`},
		{"another delimiter", map[string]any{"path": "semicolon.csv", "delimiter": ";"}, `[{"a": "1,5", "b": "2"}]`},
		{"a header alone", map[string]any{"path": "header.csv"}, `[]`},
		{"nothing", map[string]any{"path": "empty.csv"}, `[]`},
		{"a row too short", map[string]any{"path": "ragged.csv"}, "not-csv"},
		{"two columns of one name", map[string]any{"path": "twice.csv"}, "not-csv"},
		{"a column without a name", map[string]any{"path": "unnamed.csv"}, "not-csv"},
		{"a quote that does not end", map[string]any{"path": "quote.csv"}, "not-csv"},
		{"another character set", map[string]any{"path": "latin.csv"}, "not-text"},
		{"not there", map[string]any{"path": "no.csv"}, "not-found"},
		{"above the root", map[string]any{"path": "../out.csv"}, "invalid-path"},
		{"a delimiter of two characters", map[string]any{"path": "vendors.csv", "delimiter": "ab"}, `csv.read: delimiter: want one of ",", ";", "\t", "|"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			got := ""
			if strings.HasPrefix(test.want, "[") {
				got = k.must("csv.read", test.args)
			} else {
				got = k.fails("csv.read", test.args)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	k.t = t
	v, err := k.call("csv.read", map[string]any{"path": "vendors.csv"})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Deep(); got.String() != "internal/{ana@corp.example}" || got.Explain(9) != "csv.read vendors.csv" {
		t.Errorf("labelled %s from %s", got, got.Explain(9))
	}
	if k.tools["csv.write"] != nil {
		t.Error("csv.write was granted without being asked for")
	}
}

func TestCSVWrite(t *testing.T) {
	env := place(t, map[string]string{"a.csv": "x\n1\n"})
	k := build(t, "csv", env, map[string]any{"root": ".", "write": true})
	rows := []any{
		map[string]any{"b": "x,\"y\"", "a": 1, "c": nil},
		map[string]any{"a": 1.5, "b": true},
	}
	for _, test := range []struct {
		name string
		args map[string]any
		want string
		file string
	}{
		{"columns in alphabetical order", map[string]any{"path": "a.csv", "rows": rows}, `{"path": "a.csv", "rows": 2}`, "a,b,c\n1,\"x,\"\"y\"\"\",\n1.5,true,\n"},
		{"columns as named", map[string]any{"path": "a.csv", "rows": rows, "columns": []any{"c", "b", "a"}, "delimiter": ";"}, `{"path": "a.csv", "rows": 2}`, "c;b;a\n;\"x,\"\"y\"\"\";1\n;true;1.5\n"},
		{"a key that is no column", map[string]any{"path": "a.csv", "rows": rows, "columns": []any{"a"}}, "invalid", ""},
		{"a nested value", map[string]any{"path": "a.csv", "rows": []any{map[string]any{"a": []any{1}}}}, "csv.write: rows[0].a: got list, want None or bool or number or string", ""},
		{"above the root", map[string]any{"path": "../a.csv", "rows": rows}, "invalid-path", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			if test.file == "" {
				if got := k.fails("csv.write", test.args); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				return
			}
			if got := k.must("csv.write", test.args); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got, err := os.ReadFile(filepath.Join(env.Dir, "a.csv")); err != nil || string(got) != test.file {
				t.Errorf("the file holds %q, %v, want %q", got, err, test.file)
			}
		})
	}
	noTemporaryFiles(t, env.Dir)
}
