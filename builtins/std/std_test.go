package std

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

var now = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// place makes folders for an agent and its state, with files in the agent's.
func place(t *testing.T, files map[string]string) Env {
	t.Helper()
	env := Env{Dir: t.TempDir(), State: t.TempDir(), Principal: "ana@corp.example"}
	for name, content := range files {
		p := filepath.Join(env.Dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

// kit is the tools of one use, called as the gate calls them.
type kit struct {
	t     *testing.T
	tools map[string]*builtins.Tool
	key   string
	ctx   context.Context
}

func build(t *testing.T, use string, env Env, options map[string]any) *kit {
	t.Helper()
	ts, err := Lookup(use).Build(t.Context(), env, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ts.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	k := &kit{t: t, tools: map[string]*builtins.Tool{}, key: "run/1.1", ctx: t.Context()}
	var set builtins.Set
	for _, tool := range ts.Tools {
		if err := set.Add(tool); err != nil {
			t.Fatal(err)
		}
		k.tools[tool.Name] = tool
	}
	return k
}

// call checks the arguments, runs a tool, and checks and labels what it returns.
func (k *kit) call(tool string, args map[string]any) (value.Value, error) {
	k.t.Helper()
	t := k.tools[tool]
	if t == nil {
		k.t.Fatalf("%s was not granted", tool)
	}
	given, err := value.Of(args, label.New(label.User, label.Public(), nil))
	if args == nil {
		given = value.DictOf(label.Bottom())
	}
	if err != nil {
		k.t.Fatal(err)
	}
	if err := t.CheckArgs(given); err != nil {
		return value.Value{}, err
	}
	in := &builtins.Invocation{Args: given.Plain().(map[string]any), Key: k.key, Now: now}
	out, err := t.Run(k.ctx, in)
	if err != nil {
		return value.Value{}, err
	}
	return t.LabelResult(out, given)
}

// must is the text of a result.
func (k *kit) must(tool string, args map[string]any) string {
	k.t.Helper()
	v, err := k.call(tool, args)
	if err != nil {
		k.t.Fatalf("%s: %v", tool, err)
	}
	return v.Text()
}

// fails is the code of an error.
func (k *kit) fails(tool string, args map[string]any) string {
	k.t.Helper()
	v, err := k.call(tool, args)
	if err == nil {
		k.t.Fatalf("%s: got %s, want an error", tool, v.Text())
	}
	if e, ok := errors.AsType[*builtins.Error](err); ok {
		return e.Code
	}
	return err.Error()
}

func TestLookup(t *testing.T) {
	for _, name := range Names() {
		f := Lookup(name)
		if f == nil || f.Name != name || f.Doc == "" {
			t.Errorf("Lookup(%q) = %v", name, f)
		}
	}
	for _, name := range []string{"", "mail.", "mail.sned", "htpp", "http.send", "mail.send.x"} {
		if f := Lookup(name); f != nil {
			t.Errorf("Lookup(%q) = %v, want nil", name, f)
		}
	}
	if got := Names(); !slices.IsSorted(got) || !slices.Contains(got, "mail.send") || !slices.Contains(got, "clock") {
		t.Errorf("Names() = %q", got)
	}
}

// Every tool is declared so that nothing is left to guess, and every name that Lookup
// knows gives its tool.
func TestEveryToolIsDeclaredInFull(t *testing.T) {
	env := place(t, map[string]string{"mail/1.eml": "From: a@b.example\n\nx", "ledger.sql": ledgerSQL})
	options := map[string]map[string]any{
		"clock":    nil,
		"command":  {"name": "sort", "doc": "Sort lines.", "run": []any{os.Args[0], "{how}"}, "params": []any{map[string]any{"name": "how"}, map[string]any{"name": "lines"}}, "stdin": "lines"},
		"files":    {"root": ".", "write": true},
		"csv":      {"root": ".", "write": true},
		"http":     {"allow": []any{"https://api.example.com/*"}},
		"mail":     {"root": "mail"},
		"sql":      {"database": "l.db", "seed": "ledger.sql", "write": true},
		"payments": {"database": "l.db", "seed": "ledger.sql"},
	}
	for _, name := range Names() {
		family, _, one := strings.Cut(name, ".")
		k := build(t, name, env, options[family])
		if one && (len(k.tools) != 1 || k.tools[name] == nil) {
			t.Errorf("%s gives %d tools", name, len(k.tools))
		}
		for _, tool := range k.tools {
			if problems := tool.Check(); problems != nil {
				t.Errorf("%q", problems)
			}
			if tool.Returns == nil {
				t.Errorf("%s: no schema of its result", tool.Name)
			}
			for _, p := range tool.Params {
				if p.Sink == "" || p.Schema == nil {
					t.Errorf("%s: parameter %s has no sink or no schema", tool.Name, p.Name)
				}
			}
		}
	}
}

func TestBuildReportsEveryOption(t *testing.T) {
	env := place(t, map[string]string{"file": "", "bad.sql": "CREATE TABLE t (", "no.sql": "CREATE TABLE t (a);",
		"attach.sql": "CREATE TABLE t (a); ATTACH '/tmp/callgate-test-a.db' AS x;", "into.sql": "CREATE TABLE t (a); VACUUM INTO '/tmp/callgate-test-a.db';",
		"pragma.sql": "PRAGMA temp_store_directory = '/tmp'; CREATE TABLE t (a);", "mail/1.eml": ""})
	noState := Env{Dir: env.Dir}
	for _, test := range []struct {
		name    string
		use     string
		env     Env
		options map[string]any
		want    string
	}{
		{"several at once", "files", env, map[string]any{"rooot": ".", "write": "yes", "trust": "high", "readers": []any{7}},
			"files: option readers: [0]: got int, want string\nfiles: option rooot: unknown; did you mean \"root\"\nfiles: option trust: want one of \"untrusted\", \"internal\", \"user\", \"system\"\nfiles: option write: got string, want bool\nfiles: option root: missing"},
		{"an option where there is none", "clock", env, map[string]any{"zone": "UTC"}, "clock: option zone: unknown; there are none"},
		{"a folder that is not there", "files", env, map[string]any{"root": "nope"}, `files: option root: got "nope", want a folder: no such file or directory`},
		{"a file for a folder", "csv", env, map[string]any{"root": "file"}, `csv: option root: got "file", want a folder: not a directory`},
		{"a tool that needs write", "files.delete", env, map[string]any{"root": "."}, "files.delete: option write: files.delete writes, want write: true"},
		{"no state folder", "files", noState, map[string]any{"root": "x", "in": "state"}, "files: option root: is in the state folder, and there is none"},
		{"no state folder for a database", "sql", noState, map[string]any{"database": "l.db"}, "sql: option database: is in the state folder, and there is none"},
		{"no database and no seed", "sql", env, map[string]any{"database": "l.db"}, `sql: option database: "l.db" is not there, and no seed to make it from`},
		{"a seed that is not there", "sql", env, map[string]any{"database": "l.db", "seed": "nope.sql"}, "sql: option seed: open "},
		{"a seed that is no SQL", "sql", env, map[string]any{"database": "l.db", "seed": "bad.sql"}, "sql: option seed: bad.sql: SQL logic error: incomplete input"},
		{"a seed that reaches another file", "sql", env, map[string]any{"database": "l.db", "seed": "attach.sql"}, "sql: option seed: attach.sql: authorization denied: not authorized"},
		{"… by a copy of itself", "sql", env, map[string]any{"database": "l.db", "seed": "into.sql"}, "sql: option seed: into.sql: authorization denied"},
		{"… by a setting", "sql", env, map[string]any{"database": "l.db", "seed": "pragma.sql"}, "sql: option seed: pragma.sql: authorization denied: not authorized"},
		{"a seed that makes a database somewhere else", "sql", env, map[string]any{"database": filepath.Join(env.Dir, "l.db"), "seed": "no.sql"}, "sql: option database: got \"" + env.Dir + "/l.db\", want a path below the state folder"},
		{"an outbox somewhere else", "mail.send", env, map[string]any{"root": "mail", "outbox": "../out"}, `mail.send: option outbox: got "../out", want a path below the state folder`},
		{"a folder of the state somewhere else", "files", env, map[string]any{"root": env.Dir, "in": "state"}, "files: option root: got "},
		{"a ledger without its tables", "payments", env, map[string]any{"database": "x.db", "seed": "no.sql"}, "payments: option database: want a table "},
		{"no sender and no state", "mail", Env{Dir: env.Dir}, map[string]any{"root": "mail"}, "mail: option from: want one e-mail address; the principal is none\nmail: option outbox: is in the state folder, and there is none\nmail: option drafts: "},
		{"a sender that is two", "mail.send", env, map[string]any{"root": "mail", "from": "a@b.example, c@d.example"}, "mail.send: option from: want one e-mail address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ts, err := Lookup(test.use).Build(t.Context(), test.env, test.options)
			if err == nil {
				ts.Close()
				t.Fatal("it was built")
			}
			if _, there := os.Stat("/tmp/callgate-test-a.db"); there == nil {
				t.Error("/tmp/callgate-test-a.db was made")
			}
			if _, ok := errors.AsType[*OptionsError](err); !ok || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %T\n%v\nwant\n%s", err, err, test.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(env.State, "l.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a seed that failed left a database: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(env.State, tempPrefix+"*"))
	if err != nil || left != nil {
		t.Errorf("a seed that failed left %q, %v", left, err)
	}
}

func TestLabelsOfOptions(t *testing.T) {
	env := place(t, map[string]string{"a.txt": "hello"})
	for _, test := range []struct {
		name    string
		env     Env
		options map[string]any
		want    string
	}{
		{"nothing declared", env, nil, "untrusted/{ana@corp.example}"},
		{"no principal", Env{Dir: env.Dir}, nil, "untrusted/{}"},
		{"everything declared", env, map[string]any{"trust": "internal", "readers": []any{"bob", "ana"}, "tags": []any{"pii"}}, "internal/{ana,bob}#pii"},
		{"everybody", env, map[string]any{"readers": []any{"*"}}, "untrusted/public"},
		{"nobody", env, map[string]any{"readers": []any{}}, "untrusted/{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := map[string]any{"root": "."}
			for k, v := range test.options {
				options[k] = v
			}
			k := build(t, "files", test.env, options)
			v, err := k.call("files.read", map[string]any{"path": "a.txt"})
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Label.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := v.Label.Explain(9); got != "files.read a.txt" {
				t.Errorf("explained as %q", got)
			}
			if got := k.tools["files.read"].State.Label.String(); got != test.want {
				t.Errorf("the state is %s, want %s", got, test.want)
			}
		})
	}
}

func TestClock(t *testing.T) {
	k := build(t, "clock.now", Env{}, nil)
	v, err := k.call("clock.now", nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.Str != "2026-12-01T10:00:00Z" || v.Label.String() != "system/public" {
		t.Errorf("got %s labelled %s", v.Text(), v.Label)
	}
}
