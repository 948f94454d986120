package std

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/builtins"
	_ "callgate/engine/worker/early" // the test's binary confines the commands of its tests
)

// commandKit is a command tool, or a reason to skip.
func commandKit(t *testing.T, env Env, options map[string]any) *kit {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	true := build(t, "command", env, map[string]any{"name": "true", "doc": "Succeed.", "run": []any{"/bin/sh", "-c", "exit 0"}})
	if _, err := true.call("true", nil); code(err) == "isolation" {
		t.Skip(err)
	}
	return build(t, "command", env, options)
}

// code is that of an error that programs can tell apart.
func code(err error) string {
	if e, ok := err.(*builtins.Error); ok {
		return e.Code
	}
	return ""
}

func TestACommandIsATool(t *testing.T) {
	env := place(t, map[string]string{"data/a.txt": "one two\nthree\n", "data/b.txt": "-n"})
	k := commandKit(t, env, map[string]any{
		"name": "text.find", "doc": "Find lines.", "run": []any{"/bin/grep", "-c", "--max-count={most}", "-e{pattern}", "{path}"},
		"params": []any{
			map[string]any{"name": "pattern"}, map[string]any{"name": "path", "sink": "path"}, map[string]any{"name": "most", "type": "integer", "optional": true},
		},
		"read": []any{"data"}, "trust": "internal",
	})
	at := filepath.Join(env.Dir, "data", "a.txt")
	for _, test := range []struct {
		args map[string]any
		want string // in the result as text, or in the error
	}{
		{map[string]any{"pattern": "e", "path": at}, `"output": "2\n"`},
		{map[string]any{"pattern": "e", "path": at, "most": int64(1)}, `"output": "1\n"`},
		{map[string]any{"pattern": "e", "path": "data/a.txt"}, `"output": "2\n"`},
		{map[string]any{"pattern": "x; cat $(ls)", "path": at}, `"code": 1`},
		{map[string]any{"pattern": "e", "path": "-r"}, "begins with -"},
		{map[string]any{"pattern": "e\x00", "path": at}, "NUL"},
		{map[string]any{"pattern": "root", "path": "/etc/passwd"}, "No such file"},
		{map[string]any{"pattern": "e"}, "path"},
		{map[string]any{"pattern": "e", "path": at, "most": "1"}, "most"},
	} {
		v, err := k.call("text.find", test.args)
		got := v.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%v: got %s, want %s", test.args, got, test.want)
		}
	}
	tool := k.tools["text.find"]
	if tool.Effects != builtins.Read || !tool.Derives || tool.Params[0].Sink != "word" || tool.Params[1].Sink != "path" {
		t.Errorf("declared as %+v", tool)
	}
	if want := []string{"run /bin/grep", "read /usr", "read data"}; slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(tool.Widens, w) }) {
		t.Errorf("widened by %q, want %q among them", tool.Widens, want)
	}
}

func TestACommandThatWrites(t *testing.T) {
	env := place(t, map[string]string{"in/kept": "x"})
	k := commandKit(t, env, map[string]any{
		"name": "note", "doc": "Keep a note.", "run": []any{"/bin/sh", "-c", "cat > note; echo $COLOUR; echo problem >&2; ls; echo x > /usr/x; exit 4"},
		"params": []any{map[string]any{"name": "text"}}, "stdin": "text", "write": "notes", "env": map[string]any{"COLOUR": "blue"},
	})
	v, err := k.call("note", map[string]any{"text": "remember\x00"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"code": 4`, `"output": "blue\nnote\n"`, "problem", "Read-only"} {
		if !strings.Contains(v.Text(), want) {
			t.Errorf("got %s, want %s", v.Text(), want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(env.State, "notes", "note")); string(b) != "remember\x00" {
		t.Errorf("wrote %q, %v", b, err)
	}
	tool := k.tools["note"]
	if tool.State == nil || !tool.State.Write || tool.Effects&builtins.Write == 0 || tool.Idempotent || tool.Params[0].Sink != "content" {
		t.Errorf("declared as %+v", tool)
	}
	if !slices.Contains(tool.Widens, "write notes") || !slices.Contains(tool.Widens, "know COLOUR") {
		t.Errorf("widened by %q", tool.Widens)
	}
}

func TestACommandsLimits(t *testing.T) {
	for _, test := range []struct {
		script, want string
		seconds      int64
	}{
		{"while true; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "too-large", 30},
		{`printf '\377'`, "not-text", 30},
	} {
		k := commandKit(t, place(t, nil), map[string]any{"name": "x", "doc": "x", "run": []any{"/bin/sh", "-c", test.script}, "seconds": test.seconds, "max_size": int64(10_000)})
		if _, err := k.call("x", nil); code(err) != test.want {
			t.Errorf("%s: got %v, want %s", test.script, err, test.want)
		}
	}
}

func TestWhatIsWrongWithACommand(t *testing.T) {
	base := func(change map[string]any) map[string]any {
		o := map[string]any{"name": "a.b", "doc": "x", "run": []any{"/bin/sh", "{p}"}, "params": []any{map[string]any{"name": "p"}}}
		for k, v := range change {
			o[k] = v
		}
		return o
	}
	for _, test := range []struct {
		options map[string]any
		want    string
	}{
		{base(map[string]any{"run": []any{"sh", "{p}"}}), `option run: got the program "sh", want its absolute path`},
		{base(map[string]any{"run": []any{"/{p}", "{p}"}}), `option run: got the program "/{p}", want its absolute path`},
		{base(map[string]any{"run": []any{"/nowhere/x", "{p}"}}), "option run: stat /nowhere/x: no such file"},
		{base(map[string]any{"run": []any{"/etc", "{p}"}}), "want a file that can be executed"},
		{base(map[string]any{"run": []any{"/bin/sh", "-ec", "echo {p}"}}), "option run: {p} is within a text that sh runs as a program"},
		{base(map[string]any{"run": []any{"/bin/sh", "{q}"}}), "option run: got {q}, want one of params"},
		{base(map[string]any{"run": []any{"/bin/sh"}}), "option params: p: neither in run nor stdin"},
		{base(map[string]any{"params": []any{map[string]any{"name": "p"}, map[string]any{"name": "p"}}}), "p: declared twice"},
		{base(map[string]any{"stdin": "q"}), "option stdin: got {q}, want one of params"},
		{base(map[string]any{"read": []any{"nowhere"}}), "option read: lstat"},
		{base(map[string]any{"write": "../x"}), "want a path below the state folder"},
		{base(map[string]any{"env": map[string]any{"a=b": "c"}}), `got "a=b", want the name of a variable`},
		{base(map[string]any{"name": "A b"}), "option name"},
	} {
		_, err := Lookup("command").Build(t.Context(), place(t, nil), test.options)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.options, err, test.want)
		}
	}
	if ts, err := Lookup("command").Build(t.Context(), place(t, nil), base(map[string]any{"network": true})); err != nil || ts.Tools[0].Effects&builtins.Egress == 0 || !slices.Contains(ts.Tools[0].Widens, "network") {
		t.Errorf("with the network: got %+v, %v", ts, err)
	}
}
