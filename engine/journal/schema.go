package journal

import (
	"context"
	"errors"
	"fmt"
)

// The place of an event is its run's number and its own in one integer: a table ordered by it needs no
// index, and an event fits into a page of it. The view shows people what an export shows. The list
// of runs repeats what the events say: it is updated in the same transaction.
const runsSQL = `
CREATE TABLE runs (
	n      INTEGER PRIMARY KEY,
	id     TEXT NOT NULL UNIQUE,
	agent  TEXT NOT NULL,
	start  TEXT NOT NULL,
	end    TEXT NOT NULL,
	status TEXT NOT NULL,
	events INTEGER NOT NULL,
	head   TEXT NOT NULL
) STRICT;
CREATE TABLE events (
	place   INTEGER PRIMARY KEY,
	time    TEXT NOT NULL,
	type    TEXT NOT NULL,
	call    TEXT NOT NULL,
	payload BLOB,
	salt    TEXT NOT NULL,
	digest  TEXT NOT NULL,
	hash    TEXT NOT NULL
) STRICT;
CREATE VIEW journal AS
	SELECT runs.id AS run, place & 4294967295 AS seq, time, type, call, CAST(payload AS TEXT) AS payload, salt, digest, hash
	FROM events JOIN runs ON runs.n = place >> 32;`

// What a file of version 1 has not, but for the accounts, which it may have. Amounts of an account with a window stand at
// their times, those of one without at 0.
const ledgerSQL = `
CREATE TABLE IF NOT EXISTS accounts (
	account BLOB    NOT NULL,
	at      INTEGER NOT NULL,
	amount  INTEGER NOT NULL,
	PRIMARY KEY (account, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
	run     TEXT PRIMARY KEY,
	token   TEXT NOT NULL,
	who     TEXT NOT NULL,
	host    TEXT NOT NULL,
	space   TEXT NOT NULL,
	process INTEGER NOT NULL,
	since   TEXT NOT NULL,
	until   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
	n    INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	run  TEXT NOT NULL,
	seq  INTEGER NOT NULL,
	head TEXT NOT NULL,
	time TEXT NOT NULL,
	prev TEXT NOT NULL,
	hash TEXT NOT NULL
) STRICT;
CREATE TABLE checkpoints (
	line      INTEGER PRIMARY KEY,
	version   INTEGER NOT NULL,
	hash      TEXT NOT NULL,
	time      TEXT NOT NULL,
	open      TEXT NOT NULL,
	heads     TEXT NOT NULL,
	key       TEXT NOT NULL,
	signature TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_run ON ledger (run);
CREATE INDEX runs_open ON runs (n) WHERE status = 'running';
CREATE INDEX checkpoints_heads ON checkpoints (line) WHERE heads <> '';`

var statements = map[string]string{
	"begin":      "BEGIN IMMEDIATE",
	"commit":     "COMMIT",
	"rollback":   "ROLLBACK",
	"run":        "SELECT n, agent, start, end, status, events, head FROM runs WHERE id = ?",
	"add":        "INSERT INTO runs (id, agent, start, end, status, events, head) VALUES (?, ?, ?, ?, ?, ?, ?)",
	"update":     "UPDATE runs SET end = ?, status = ?, events = ?, head = ? WHERE n = ?",
	"advance":    "UPDATE runs SET events = ?, head = ? WHERE n = ?",
	"event":      "INSERT INTO events (place, time, type, call, payload, salt, digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	"tail":       "SELECT n, hash FROM ledger ORDER BY n DESC LIMIT 1",
	"line":       "INSERT INTO ledger (n, kind, run, seq, head, time, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	"open":       "SELECT id, events, head FROM runs WHERE status = 'running' ORDER BY n",
	"forget":     "UPDATE checkpoints SET heads = '' WHERE heads <> ''",
	"checkpoint": "INSERT OR REPLACE INTO checkpoints (line, version, hash, time, open, heads, key, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
}

// prepare takes the connection that writes, checks, makes or migrates the schema, and compiles the statements.
func (s *SQLite) prepare(ctx context.Context) error {
	var err error
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	app, version, tables, err := s.version(ctx)
	switch {
	case err != nil:
		return err
	case tables > 0 && app != applicationID:
		return errors.New("a SQLite database, but not a journal: name another file")
	case version > Schema:
		return fmt.Errorf("has schema %d, this version reads up to %d: %w", version, Schema, ErrNewer)
	}
	if tables == 0 { // before anything is written: pages of what is pruned can be given back then
		if _, err := s.conn.ExecContext(ctx, "PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	}
	if err := s.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(new(string)); err != nil {
		return err
	}
	if tables == 0 || version < Schema {
		if err := s.migrate(ctx); err != nil {
			return err
		}
	}
	for name, text := range statements {
		if s.stmt[name], err = s.conn.PrepareContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// version reads what a file says it is, and how many tables and the like it has.
func (s *SQLite) version(ctx context.Context) (app, version, tables int64, err error) {
	return app, version, tables, errors.Join(
		s.conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app),
		s.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		s.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
}

// migrate makes the tables of a new file, and what a file of a former version lacks, in one transaction, unless another process was first.
func (s *SQLite) migrate(ctx context.Context) (err error) {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, undo := s.conn.ExecContext(ctx, "ROLLBACK")
			err = errors.Join(err, undo)
		}
	}()
	_, version, tables, err := s.version(ctx)
	if err != nil {
		return err
	}
	if tables == 0 {
		if _, err := s.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d;", applicationID)+runsSQL); err != nil {
			return err
		}
	}
	if tables == 0 || version < Schema {
		if _, err := s.conn.ExecContext(ctx, "DROP TABLE IF EXISTS claims;"+ledgerSQL+fmt.Sprintf("PRAGMA user_version = %d;", Schema)); err != nil {
			return err
		}
		if err := s.enterFormer(ctx); err != nil {
			return err
		}
	}
	_, err = s.conn.ExecContext(ctx, "COMMIT")
	return err
}

// enterFormer begins the ledger with the runs that were there before it.
func (s *SQLite) enterFormer(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, "SELECT runs.id, runs.events, runs.head, events.time FROM runs JOIN events ON place = (n << 32) + runs.events ORDER BY n")
	if err != nil {
		return err
	}
	defer rows.Close()
	var lines []Line
	var last Line
	for rows.Next() {
		var run, head, at string
		var seq int64
		if err := rows.Scan(&run, &seq, &head, &at); err != nil {
			return err
		}
		t, err := parseTime(at)
		if err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
		last = last.follow(LineFormer, run, seq, head, t)
		lines = append(lines, last)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := s.conn.ExecContext(ctx, statements["line"], l.N, string(l.Kind), l.Run, l.Seq, l.Head, timeText(l.Time), l.Prev, l.Hash); err != nil {
			return err
		}
	}
	return nil
}
