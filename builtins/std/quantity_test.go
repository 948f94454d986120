package std

import (
	"strings"
	"testing"
)

// Quantities are read as documents have them, and what is none is said with what is wanted.
func TestWhatIsWrongWithQuantities(t *testing.T) {
	command := map[string]any{"name": "a", "doc": "x", "run": []any{"/bin/sh"}}
	web := map[string]any{"allow": []any{"https://a.example/*"}}
	box := map[string]any{"root": "."}
	for _, test := range []struct {
		use    string
		rest   map[string]any
		option string
		value  any
		want   string // "": it is taken
	}{
		{"command", command, "memory", "64MiB", ""},
		{"command", command, "memory", int64(64 << 20), ""},
		{"command", command, "memory", "1GB", ""},
		{"command", command, "memory", "999999999999999999GiB", `got "999999999999999999GiB", want a size from 1MiB to 64GiB`},
		{"command", command, "memory", "1.5GiB", `got "1.5GiB", want a size such as 512MiB`},
		{"command", command, "memory", "64M", `got "64M", want a size such as 512MiB`},
		{"command", command, "memory", "64KiB", `got "64KiB", want a size from 1MiB to 64GiB`},
		{"command", command, "memory", int64(64), `got 64, want a size from 1MiB to 64GiB`},
		{"command", command, "memory", true, `got true, want a size such as 512MiB`},
		{"command", command, "memory", 1.5, `got 1.5, want a size such as 512MiB`},
		{"command", command, "memory", nil, `got null, want a size such as 512MiB`},
		{"command", command, "memory", []any{int64(1)}, `got a list, want a size such as 512MiB`},
		{"command", command, "max_size", "64KiB", ""},
		{"command", command, "max_size", "65MiB", `got "65MiB", want a size from 1B to 64MiB`},
		{"command", command, "seconds", int64(60), ""},
		{"command", command, "seconds", "60s", `got "60s", want a number of seconds from 1 to 3600`},
		{"command", command, "seconds", int64(0), `got 0, want a number of seconds from 1 to 3600`},
		{"http", web, "max_size", "2MiB", ""},
		{"http", web, "max_size", "9MiB", `got "9MiB", want a size from 1B to 8MiB`},
		{"http", web, "timeout", "1m", ""},
		{"http", web, "timeout", int64(10), `got 10, want a duration such as 10s, from 1ms to 10m0s`},
		{"http", web, "timeout", "11m", `got "11m", want a duration such as 10s`},
		{"files", box, "max_size", "1MB", ""},
		{"files", box, "max_size", "2GiB", `got "2GiB", want a size from 1B to 1GiB`},
		{"mail", box, "max_size", "20MiB", ""},
		{"mail", box, "max_size", "20 MiB", `got "20 MiB", want a size such as 1MiB`},
		{"csv", box, "max_size", "20MiB", ""},
	} {
		options := map[string]any{test.option: test.value}
		for k, v := range test.rest {
			options[k] = v
		}
		ts, err := Lookup(test.use).Build(t.Context(), place(t, nil), options)
		if err == nil {
			ts.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.use+": option "+test.option+": "+test.want) {
			t.Errorf("%s: %s: %v: got %v, want %s", test.use, test.option, test.value, err, test.want)
		}
	}
	ts, err := Lookup("command").Build(t.Context(), place(t, nil), map[string]any{"name": "a", "doc": "x", "run": []any{"/bin/sh"}, "seconds": int64(7)})
	if err != nil || ts.Tools[0].Timeout.Seconds() != 7 {
		t.Errorf("got %v", err)
	}
}
