//go:build unix

package journal

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// disk stands below SQLite: it keeps what was asked of the files that are opened through it, in order, and can fail.
type disk struct {
	mu    sync.Mutex
	trace []diskOp
	fail  func(n int, op diskOp) int32 // an error of SQLite's for the nth, from 0; nil or 0: none
}

// diskOp is one thing that SQLite asked for.
type diskOp struct {
	what string // write, truncate, sync, delete
	file string // base name
	at   int64  // of a write: where; of a truncate: the size; of a delete: not 0 if it is synced
	data []byte
}

// theDisk is the one there is: SQLite knows it by a name.
var theDisk struct {
	once    sync.Once
	mu      sync.Mutex // held by whoever uses it
	now     *disk
	methods map[uintptr]uintptr // ours for those of SQLite, by address: files that are locked and those that are not differ
	files   map[uintptr]diskFile
	open    uintptr
	delete  uintptr
}

// diskFile is an open file.
type diskFile struct {
	name  string                       // base name
	below *sqlite3.Tsqlite3_io_methods // SQLite's own
}

const diskVFS = "callgate-test-disk"

// useDisk gives a test the disk for itself.
func useDisk(t *testing.T) *disk {
	theDisk.once.Do(registerDisk)
	theDisk.mu.Lock()
	theDisk.now = new(disk)
	t.Cleanup(theDisk.mu.Unlock)
	return theDisk.now
}

// do records what is asked for, and returns whether it fails.
func (d *disk) do(op diskOp) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.trace)
	d.trace = append(d.trace, op)
	if d.fail == nil {
		return sqlite3.SQLITE_OK
	}
	return d.fail(n, op)
}

// pointer returns what C calls a function by.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// function returns what is behind such a pointer.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&struct{ p uintptr }{p})) }

type (
	openFunc  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	pathFunc  = func(tls *libc.TLS, vfs, name uintptr, sync int32) int32
	closeFunc = func(tls *libc.TLS, file uintptr) int32
	writeFunc = func(tls *libc.TLS, file, data uintptr, n int32, at int64) int32
	sizeFunc  = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc  = func(tls *libc.TLS, file uintptr, flags int32) int32
)

// at returns what C has at an address.
func at[T any](p uintptr) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

// registerDisk makes a VFS that is SQLite's own but for what changes files.
func registerDisk() {
	tls := libc.NewTLS()
	theDisk.files, theDisk.methods = map[uintptr]diskFile{}, map[uintptr]uintptr{}
	own := sqlite3.Xsqlite3_vfs_find(tls, 0)
	vfs := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	*at[sqlite3.Tsqlite3_vfs](vfs) = *at[sqlite3.Tsqlite3_vfs](own)
	v := at[sqlite3.Tsqlite3_vfs](vfs)
	name, err := libc.CString(diskVFS)
	if err != nil {
		panic(err)
	}
	v.FzName, v.FpNext = name, 0
	theDisk.open, theDisk.delete = v.FxOpen, v.FxDelete
	v.FxOpen, v.FxDelete = pointer(openFunc(diskOpen)), pointer(pathFunc(diskDelete))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, vfs, 0); rc != sqlite3.SQLITE_OK {
		panic(fmt.Sprint("registering the disk: ", rc))
	}
}

func diskOpen(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	rc := function[openFunc](theDisk.open)(tls, vfs, name, file, flags, out)
	f := at[sqlite3.Tsqlite3_file](file)
	if rc != sqlite3.SQLITE_OK || f.FpMethods == 0 {
		return rc
	}
	theDisk.now.mu.Lock()
	defer theDisk.now.mu.Unlock()
	opened := diskFile{below: at[sqlite3.Tsqlite3_io_methods](f.FpMethods)}
	if name != 0 {
		opened.name = filepath.Base(libc.GoString(name))
	}
	theDisk.files[file] = opened
	ours := theDisk.methods[f.FpMethods]
	if ours == 0 {
		ours = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
		m := at[sqlite3.Tsqlite3_io_methods](ours)
		*m = *opened.below
		m.FxClose, m.FxWrite, m.FxTruncate, m.FxSync = pointer(closeFunc(diskClose)), pointer(writeFunc(diskWrite)), pointer(sizeFunc(diskTruncate)), pointer(syncFunc(diskSync))
		theDisk.methods[f.FpMethods] = ours
	}
	f.FpMethods = ours
	return rc
}

func fileOf(file uintptr) diskFile {
	theDisk.now.mu.Lock()
	defer theDisk.now.mu.Unlock()
	return theDisk.files[file]
}

func diskClose(tls *libc.TLS, file uintptr) int32 {
	return function[closeFunc](fileOf(file).below.FxClose)(tls, file)
}

func diskWrite(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32 {
	f := fileOf(file)
	op := diskOp{"write", f.name, offset, slices.Clone(unsafe.Slice(at[byte](data), n))}
	if rc := theDisk.now.do(op); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return function[writeFunc](f.below.FxWrite)(tls, file, data, n, offset)
}

func diskTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	f := fileOf(file)
	if rc := theDisk.now.do(diskOp{"truncate", f.name, size, nil}); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return function[sizeFunc](f.below.FxTruncate)(tls, file, size)
}

// diskSync syncs nothing: what would be lost otherwise is up to the test.
func diskSync(_ *libc.TLS, file uintptr, _ int32) int32 {
	return theDisk.now.do(diskOp{"sync", fileOf(file).name, 0, nil})
}

func diskDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	if rc := theDisk.now.do(diskOp{"delete", filepath.Base(libc.GoString(name)), int64(sync), nil}); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return function[pathFunc](theDisk.delete)(tls, vfs, name, sync)
}

// image is what the files of a disk hold.
type image map[string][]byte

func (m image) clone() image {
	out := image{}
	for name, data := range maps.All(m) {
		out[name] = slices.Clone(data)
	}
	return out
}

// apply does what was asked for to what the files hold; of a write, the first n bytes.
func (m image) apply(op diskOp, n int) {
	switch op.what {
	case "write":
		data := m[op.file]
		if grow := op.at + int64(n) - int64(len(data)); grow > 0 {
			data = append(data, make([]byte, grow)...)
		}
		copy(data[op.at:], op.data[:n])
		m[op.file] = data
	case "truncate":
		data := m[op.file]
		if int64(len(data)) < op.at {
			data = append(data, make([]byte, op.at-int64(len(data)))...)
		}
		m[op.file] = data[:op.at]
	case "delete":
		delete(m, op.file)
	}
}
