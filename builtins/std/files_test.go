package std

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestFilesRead(t *testing.T) {
	env := place(t, map[string]string{
		"data/a.txt":     "hello",
		"data/bom.txt":   "\ufeffhello",
		"data/sub/b.txt": "deep",
		"data/bin":       "\xff\x00",
		"data/big":       strings.Repeat("x", 101),
		"data/empty":     "",
		"secret.txt":     "secret",
	})
	root := filepath.Join(env.Dir, "data")
	for link, to := range map[string]string{
		"out":      "../secret.txt",
		"abs":      filepath.Join(env.Dir, "secret.txt"),
		"outdir":   "..",
		"in":       "sub/b.txt",
		"loop":     "loop",
		"dangling": "nowhere",
		"null":     "/dev/null",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	k := build(t, "files", env, map[string]any{"root": "data", "max_size": 100})
	for _, test := range []struct{ name, path, want string }{
		{"a file", "a.txt", `"hello"`},
		{"a byte order mark is no text", "bom.txt", `"hello"`},
		{"a file below", "sub/b.txt", `"deep"`},
		{"a path with needless steps", "./sub/../a.txt", `"hello"`},
		{"a link that stays inside", "in", `"deep"`},
		{"nothing in it", "empty", `""`},
		{"not there", "nope", "not-found"},
		{"a file for a folder", "a.txt/x", "not-found"},
		{"a folder", "sub", "not-a-file"},
		{"the root itself", ".", "not-a-file"},
		{"no text", "bin", "not-text"},
		{"too large", "big", "too-large"},
		{"above the root", "../secret.txt", "invalid-path"},
		{"above the root by a detour", "sub/../../secret.txt", "invalid-path"},
		{"an absolute path", filepath.Join(env.Dir, "secret.txt"), "invalid-path"},
		{"a link that leads out", "out", "invalid-path"},
		{"an absolute link that leads out", "abs", "invalid-path"},
		{"a folder link that leads out", "outdir/secret.txt", "invalid-path"},
		{"a link to a device", "null", "invalid-path"},
		{"a link to itself", "loop", "invalid-path"},
		{"a link to nothing", "dangling", "not-found"},
		{"a NUL", "a.txt\x00", "invalid-path"},
		{"a line break", "a.txt\n", "invalid-path"},
		{"a backslash", `sub\b.txt`, "invalid-path"},
		{"a very long path", strings.Repeat("a/", 600), "invalid-path"},
		{"a very long name", strings.Repeat("a", 300), "invalid-path"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			args := map[string]any{"path": test.path}
			got := ""
			if strings.HasPrefix(test.want, `"`) {
				got = k.must("files.read", args)
			} else {
				got = k.fails("files.read", args)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	k.t = t
	if got := k.must("files.read_bytes", map[string]any{"path": "bin"}); got != `b"\xff\x00"` {
		t.Errorf("read_bytes gave %s", got)
	}
	if got := k.fails("files.read", nil); got != "files.read: path: missing" {
		t.Errorf("without a path: %s", got)
	}
}

func TestFilesList(t *testing.T) {
	env := place(t, map[string]string{"data/a.txt": "hello", "data/sub/b.txt": "x", "data/" + tempPrefix + "x.tmp": "half"})
	if err := os.Symlink("..", filepath.Join(env.Dir, "data", "up")); err != nil {
		t.Skip(err)
	}
	k := build(t, "files", env, map[string]any{"root": "data"})
	for _, test := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"the root", nil, `[{"kind": "file", "path": "a.txt", "size": 5}, {"kind": "folder", "path": "sub", "size": 0}, {"kind": "link", "path": "up", "size": 0}]`},
		{"all below, but not through links", map[string]any{"recursive": true}, `[{"kind": "file", "path": "a.txt", "size": 5}, {"kind": "folder", "path": "sub", "size": 0}, {"kind": "file", "path": "sub/b.txt", "size": 1}, {"kind": "link", "path": "up", "size": 0}]`},
		{"a folder", map[string]any{"path": "sub"}, `[{"kind": "file", "path": "sub/b.txt", "size": 1}]`},
	} {
		if got := k.must("files.list", test.args); got != test.want {
			t.Errorf("%s: got %s\nwant %s", test.name, got, test.want)
		}
	}
	for path, want := range map[string]string{"a.txt": "not-a-folder", "nope": "not-found", "..": "invalid-path", "up": "invalid-path"} {
		if got := k.fails("files.list", map[string]any{"path": path}); got != want {
			t.Errorf("list %q: got %s, want %s", path, got, want)
		}
	}
}

// A name that is no text does not keep the others from being seen.
func TestNamesThatAreNoText(t *testing.T) {
	env := place(t, map[string]string{"data/a.txt": "hello", "data/b.eml": "From: a@b.example\n\nx"})
	if err := os.WriteFile(filepath.Join(env.Dir, "data", "no\xff.eml"), []byte("From: a@b.example\n\nx"), 0o600); err != nil {
		t.Skip(err)
	}
	k := build(t, "files", env, map[string]any{"root": "data"})
	want := `[{"kind": "file", "path": "a.txt", "size": 5}, {"kind": "file", "path": "b.eml", "size": 20}, {"kind": "file", "path": "no` + "\ufffd" + `.eml", "size": 20}]`
	if got := k.must("files.list", nil); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := k.fails("files.read", map[string]any{"path": "no\ufffd.eml"}); got != "not-found" {
		t.Errorf("read: got %s, want not-found", got)
	}
	mails := build(t, "mail.list", env, map[string]any{"root": "data"})
	v, err := mails.call("mail.list", nil)
	if err != nil || len(v.Items) != 2 {
		t.Fatalf("got %v, error %v, want two mails", v, err)
	}
	if code, _ := v.Items[1].Get("error"); code.Str != "io" {
		t.Errorf("the mail whose name is no text has the error %q, want io", code.Str)
	}
}

func TestFilesWrite(t *testing.T) {
	env := place(t, map[string]string{"data/a.txt": "old", "data/sub/b.txt": "x", "secret.txt": "secret"})
	root := filepath.Join(env.Dir, "data")
	for link, to := range map[string]string{"out": "../secret.txt", "in": "a.txt", "outdir": ".."} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	k := build(t, "files", env, map[string]any{"root": "data", "write": true, "max_size": 10})
	for _, test := range []struct {
		name, tool, path string
		text             any
		want             string
	}{
		{"a new file", "files.write", "new.txt", "one", `{"created": True, "path": "new.txt", "size": 3}`},
		{"the same again", "files.write", "new.txt", "one", `{"created": False, "path": "new.txt", "size": 3}`},
		{"another text", "files.write", "new.txt", "two", "exists"},
		{"replaced", "files.replace", "new.txt", "two", `{"created": False, "path": "new.txt", "size": 3}`},
		{"a new file by replace", "files.replace", "r.txt", "r", `{"created": True, "path": "r.txt", "size": 1}`},
		{"folders above are made", "files.write", "x/y/z.txt", "z", `{"created": True, "path": "x/y/z.txt", "size": 1}`},
		{"bytes", "files.write", "bytes", []byte{0xff, 0}, `{"created": True, "path": "bytes", "size": 2}`},
		{"a dict that looks like bytes", "files.write", "d", map[string]any{"$bytes": "AA=="}, "invalid"},
		{"too large", "files.write", "big", strings.Repeat("x", 11), "too-large"},
		{"above the root", "files.write", "../evil", "x", "invalid-path"},
		{"through a link that leads out", "files.write", "outdir/evil", "x", "invalid-path"},
		{"onto a link that leads out", "files.replace", "out", "x", "not-a-file"},
		{"onto a link inside", "files.replace", "in", "x", "not-a-file"},
		{"onto a folder", "files.replace", "sub", "x", "not-a-file"},
		{"onto the root", "files.replace", ".", "x", "not-a-file"},
		{"below a file", "files.write", "a.txt/x", "x", "not-found"},
		{"a name of a file in the making", "files.write", tempPrefix + "x", "x", "not-a-file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			args := map[string]any{"path": test.path, "text": test.text}
			got := ""
			if strings.HasPrefix(test.want, "{") {
				got = k.must(test.tool, args)
			} else {
				got = k.fails(test.tool, args)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	k.t = t
	for name, want := range map[string]string{"data/new.txt": "two", "data/a.txt": "old", "secret.txt": "secret", "data/x/y/z.txt": "z"} {
		if got, err := os.ReadFile(filepath.Join(env.Dir, filepath.FromSlash(name))); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v, want %q", name, got, err, want)
		}
	}
	for _, test := range []struct{ path, want string }{{"a.txt", "True"}, {"a.txt", "False"}, {"in", "True"}} {
		if got := k.must("files.delete", map[string]any{"path": test.path}); got != test.want {
			t.Errorf("delete %s: got %s, want %s", test.path, got, test.want)
		}
	}
	for path, want := range map[string]string{"sub": "not-a-file", "../secret.txt": "invalid-path", "outdir/secret.txt": "invalid-path", ".": "not-a-file"} {
		if got := k.fails("files.delete", map[string]any{"path": path}); got != want {
			t.Errorf("delete %s: got %s, want %s", path, got, want)
		}
	}
	if k.tools["files.write"].State.Name != k.tools["files.read"].State.Name || !k.tools["files.write"].State.Write {
		t.Error("readers and writers are not of one state")
	}
	noTemporaryFiles(t, env.Dir)
}

func noTemporaryFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), tempPrefix) {
			t.Errorf("left behind: %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestACancelledWriteLeavesNothing(t *testing.T) {
	env := place(t, map[string]string{"data/a.txt": "old"})
	k := build(t, "files", env, map[string]any{"root": "data", "write": true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.ctx = ctx
	for _, path := range []string{"new.txt", "a.txt", "sub/new.txt"} {
		if _, err := k.call("files.replace", map[string]any{"path": path, "text": "new"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(env.Dir, "data", "a.txt")); err != nil || string(got) != "old" {
		t.Errorf("a.txt holds %q, %v", got, err)
	}
	for _, path := range []string{"new.txt", "sub"} {
		if _, err := os.Stat(filepath.Join(env.Dir, "data", path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	noTemporaryFiles(t, env.Dir)
}

// Of many who make one file, one wins, and the file is whole.
func TestConcurrentWritesAreWhole(t *testing.T) {
	env := place(t, map[string]string{"data/x": ""})
	k := build(t, "files", env, map[string]any{"root": "data", "write": true})
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 16 {
		wg.Go(func() {
			_, err := k.call("files.write", map[string]any{"path": "one", "text": strings.Repeat(fmt.Sprint(i%10), 1000)})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(env.Dir, "data", "one"))
	if err != nil || len(got) != 1000 || strings.Trim(string(got), string(got[:1])) != "" {
		t.Errorf("the file is a mixture of %d bytes, %v", len(got), err)
	}
	if made < 1 || made > 2 { // two may have written the same text
		t.Errorf("%d of 16 made the file", made)
	}
}

func TestStateFolderIsMade(t *testing.T) {
	env := place(t, nil)
	k := build(t, "files", env, map[string]any{"root": "notes/today", "in": "state", "write": true})
	k.must("files.write", map[string]any{"path": "a", "text": "x"})
	if _, err := os.Stat(filepath.Join(env.State, "notes", "today", "a")); err != nil {
		t.Error(err)
	}
	if got := k.tools["files.read"].State.Name; got != "folder:state:notes/today" {
		t.Errorf("the state is %s", got)
	}
}

func TestPipesAndDevicesAreNoFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("makes a pipe")
	}
	env := place(t, map[string]string{"data/x": ""})
	makePipe(t, filepath.Join(env.Dir, "data", "pipe"))
	k := build(t, "files", env, map[string]any{"root": "data", "write": true})
	if got := k.fails("files.read", map[string]any{"path": "pipe"}); got != "not-a-file" {
		t.Errorf("read: %s", got)
	}
	if got := k.fails("files.replace", map[string]any{"path": "pipe", "text": "x"}); got != "not-a-file" {
		t.Errorf("replace: %s", got)
	}
	dev := build(t, "files", Env{Dir: "/dev"}, map[string]any{"root": "."})
	for _, name := range []string{"zero", "null", "random"} {
		if got := dev.fails("files.read_bytes", map[string]any{"path": name}); got != "not-a-file" {
			t.Errorf("/dev/%s: %s", name, got)
		}
	}
}
