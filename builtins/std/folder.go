package std

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"callgate/builtins"
	"callgate/engine/label"
)

// folder is a folder that nothing reaches out of: no "..", no absolute path, no link that
// leads elsewhere. Names are relative, with slashes. It is safe for concurrent use.
type folder struct {
	root  *os.Root
	given string // its name in the option
	path  string // absolute, links followed
	name  string // of its namespace: what reaches one folder is one state
	max   int64  // bytes of a file
}

const (
	defaultMaxSize = 1 << 20
	maxEntries     = 10_000
	tempPrefix     = ".callgate-"
)

// folderOptions are the options of toolsets that work in one folder.
func folderOptions() []builtins.Param {
	return append([]builtins.Param{
		{Name: "root", Doc: "The folder, relative to the agent file.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true},
		{Name: "in", Doc: "What root is relative to: agent (default), or state, where it is made if it is not there.", Schema: schema(`{"enum": ["agent", "state"]}`)},
		{Name: "write", Doc: "Grant the tools that write. Default: false.", Schema: schema(boolSchema)},
		{Name: "max_size", Doc: "The most that a file may be that is read or written, such as 5MiB. Default: 1MiB."},
	}, labelOptions("untrusted")...)
}

// rootFolder opens the folder that the options root and in name, or reports why not and returns nil.
func (b *builder) rootFolder() *folder {
	return b.folder("root", b.text("root", ""), b.text("in", "agent") == "state")
}

// state is the folder as a namespace with one label.
func (f *folder) state(l label.Label, write bool) *builtins.State {
	return &builtins.State{Name: f.name, Write: write, Label: l}
}

// folder opens the folder that an option names, or reports why not and returns nil.
func (b *builder) folder(option, name string, inState bool) *folder {
	at := b.place(option, name, inState)
	if at == "" {
		return nil
	}
	if inState {
		if err := os.MkdirAll(at, 0o700); err != nil {
			b.failed(option, err)
			return nil
		}
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		b.fail(option, fmt.Sprintf("got %q, want a folder: %v", name, errors.Unwrap(err)))
		return nil
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		b.failed(option, errors.Join(err, root.Close()))
		return nil
	}
	space := "folder:"
	if inState {
		space = "folder:state:"
	}
	return &folder{root, name, real, space + path.Clean(filepath.ToSlash(name)), b.size("max_size", defaultMaxSize, 1, 1<<30)}
}

// place is the folder as a place of the host.
func (f *folder) place(l label.Label, write bool) Place { return Place{f.given, f.path, l, write} }

// clean returns a name in its one form, or refuses it.
func clean(name string) (string, error) {
	switch {
	case name == "":
		return "", fail("invalid-path", "path: got nothing, want a relative path")
	case len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return "", fail("invalid-path", "path %.40q: too long, or has a character that no path may have", name)
	case path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return "", fail("invalid-path", "path %q: leads out of the folder; want a relative path without ..", name)
	}
	return path.Clean(name), nil
}

// broken turns an error of the file system into one that programs can tell apart.
func broken(name string, err error) error {
	if _, ok := errors.AsType[*builtins.Error](err); ok {
		return err
	}
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	code := "io"
	_, fromSystem := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = "not-found"
	case errors.Is(err, fs.ErrExist):
		code = "exists"
	case errors.Is(err, fs.ErrPermission):
		code = "no-permission"
	case errors.Is(err, syscall.EISDIR):
		code = "not-a-file"
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG), !fromSystem:
		code = "invalid-path" // os.Root itself refuses what leads out
	}
	return fail(code, "path %q: %v", name, cause)
}

// read returns the content of a regular file.
func (f *folder) read(name string) ([]byte, error) {
	name, err := clean(name)
	if err != nil {
		return nil, err
	}
	// Opening a device or a pipe may do something, or wait: look first, and look again.
	if st, err := f.root.Stat(name); err != nil {
		return nil, broken(name, err)
	} else if !st.Mode().IsRegular() {
		return nil, notAFile(name)
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, broken(name, err)
	}
	defer file.Close()
	st, err := file.Stat()
	switch {
	case err != nil:
		return nil, broken(name, err)
	case !st.Mode().IsRegular():
		return nil, notAFile(name)
	case st.Size() > f.max:
		return nil, f.tooLarge(name)
	}
	data, err := io.ReadAll(io.LimitReader(file, f.max+1))
	switch {
	case err != nil:
		return nil, broken(name, err)
	case int64(len(data)) > f.max:
		return nil, f.tooLarge(name)
	}
	return data, nil
}

// readText returns the content of a file that is UTF-8, without a byte order mark.
func (f *folder) readText(name string) (string, error) {
	data, err := f.read(name)
	if err != nil {
		return "", err
	}
	s := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(s) {
		return "", fail("not-text", "path %q: not UTF-8 text", name)
	}
	return s, nil
}

func notAFile(name string) error {
	return fail("not-a-file", "path %q: not a regular file", name)
}

func (f *folder) tooLarge(name string) error {
	return fail("too-large", "path %q: more than %d bytes", name, f.max)
}

// write makes a file, whole or not at all, and reports whether it is new. A file that is
// there already is an error unless replace is set or its content is the same.
func (f *folder) write(ctx context.Context, name string, data []byte, replace bool) (created bool, err error) {
	name, err = clean(name)
	switch {
	case err != nil:
		return false, err
	case name == "." || strings.HasPrefix(path.Base(name), tempPrefix):
		return false, notAFile(name)
	case int64(len(data)) > f.max:
		return false, f.tooLarge(name)
	}
	st, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		created = true
	case err != nil:
		return false, broken(name, err)
	case !st.Mode().IsRegular():
		return false, notAFile(name)
	case !replace:
		if same, err := f.read(name); err == nil && slices.Equal(same, data) {
			return false, nil
		}
		return false, broken(name, fs.ErrExist)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	dir := path.Dir(name)
	if err := f.root.MkdirAll(dir, 0o700); err != nil {
		return false, broken(name, err)
	}
	temp := path.Join(dir, tempPrefix+randomName()+".tmp")
	defer f.root.Remove(temp) // gone if it was renamed
	if err := f.writeAll(temp, data); err != nil {
		return false, broken(name, err)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	// A link, unlike a rename, fails if somebody else made the file meanwhile.
	if created && !replace {
		err = f.root.Link(temp, name)
	} else {
		err = f.root.Rename(temp, name)
	}
	if err != nil {
		return false, broken(name, err)
	}
	f.syncFolder(dir)
	return created, nil
}

func (f *folder) writeAll(name string, data []byte) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// syncFolder makes a rename durable where the system can; the file's data is safe already.
func (f *folder) syncFolder(dir string) {
	if d, err := f.root.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// remove deletes a regular file or a link and reports whether it was there.
func (f *folder) remove(name string) (bool, error) {
	name, err := clean(name)
	if err != nil {
		return false, err
	}
	st, err := f.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, broken(name, err)
	case !st.Mode().IsRegular() && st.Mode().Type() != fs.ModeSymlink:
		return false, notAFile(name)
	}
	if err := f.root.Remove(name); err != nil {
		return false, broken(name, err)
	}
	f.syncFolder(path.Dir(name))
	return true, nil
}

// entry is one line of a listing.
type entry struct {
	path string
	kind string // file, folder, link, other
	size int64
}

// list returns what is in a folder, sorted by path; links are not followed.
func (f *folder) list(ctx context.Context, name string, below bool) ([]entry, error) {
	name, err := clean(name)
	if err != nil {
		return nil, err
	}
	var out []entry
	err = fs.WalkDir(f.root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case p == name && d.IsDir():
			return nil
		case p == name:
			return fail("not-a-folder", "path %q: not a folder", name)
		case strings.HasPrefix(d.Name(), tempPrefix):
			return nil
		case len(out) == maxEntries:
			return fail("too-large", "path %q: more than %d entries", name, maxEntries)
		}
		e := entry{path: strings.ToValidUTF8(p, "\ufffd"), kind: "other"} // a name that is no text can be seen, and not opened
		switch d.Type() {
		case 0:
			e.kind = "file"
			if info, err := d.Info(); err == nil {
				e.size = info.Size()
			}
		case fs.ModeDir:
			e.kind = "folder"
		case fs.ModeSymlink:
			e.kind = "link"
		}
		out = append(out, e)
		if d.IsDir() && !below {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, broken(name, err)
	}
	return out, nil
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
