package journal

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// explain says of an error of the store which file it was, what happened to it and what to do.
func (s *SQLite) explain(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code := e.Code() & 0xff
		if code == sqlite3.SQLITE_BUSY {
			return fmt.Errorf("journal: %s: locked by another process for more than %v: end that process, or name another file: %w", s.path, s.wait, err)
		}
		if what, ok := sqliteErrors[code]; ok {
			return fmt.Errorf("journal: %s: %s: %w", s.path, what, err)
		}
	}
	return fmt.Errorf("journal: %s: %w", s.path, err)
}

var sqliteErrors = map[int]string{
	sqlite3.SQLITE_LOCKED:   "locked: end the other use of it, or name another file",
	sqlite3.SQLITE_READONLY: "cannot be written: make the file and its folder writable, or name another file",
	sqlite3.SQLITE_CANTOPEN: "cannot be opened: make the file and its folder readable and writable, or name another file",
	sqlite3.SQLITE_PERM:     "cannot be opened: make the file and its folder readable and writable, or name another file",
	sqlite3.SQLITE_FULL:     "the disk is full: make room",
	sqlite3.SQLITE_IOERR:    "the disk failed",
	sqlite3.SQLITE_NOTADB:   "not a journal: name another file",
	sqlite3.SQLITE_CORRUPT:  "damaged: restore it from a copy, or move it away",
	sqlite3.SQLITE_TOOBIG:   "an event is too large to be stored",
}

// noTransaction reports whether a rollback found nothing to undo.
func noTransaction(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_ERROR
}
