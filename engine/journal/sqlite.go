package journal

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// applicationID marks a database as a journal of ours, in SQLite's header ("CGJL").
	applicationID = 0x43474a4c

	// lockWait is how long a store waits for another process that writes to the same file.
	lockWait = 5 * time.Second

	// groupEvents is how many events may share a commit, about.
	groupEvents = 512
)

// place returns where an event of a run stands in the table of events.
func place(run, seq int64) int64 { return run<<32 | seq }

// SQLite is a [Store] in one SQLite file, with its write-ahead log beside it. Other processes may
// read and write the same file. What was appended with sync survives a power cut, as far as
// the disk keeps its word; the rest survives the end of the process, however sudden.
//
// Appends that come while one is being committed share the next commit.
type SQLite struct {
	keyed
	path string
	wait time.Duration // for another process that writes
	db   *sql.DB       // for reading

	mu      sync.Mutex
	waiting []*appending
	leading bool // somebody is committing, and will look at waiting again
	closed  bool
	idle    sync.Cond // nobody is committing

	// of whoever is leading:
	conn        *sql.Conn
	stmt        map[string]*sql.Stmt
	synchronous string // of the connection: EXTRA at first, so that what a file is made with is durable, its folder too
	runs        map[string]*known

	claims map[string]string  // tokens of the claims that were made here, by run
	key    ed25519.PrivateKey // signs checkpoints; nil: not read yet

	commits atomic.Int64 // transactions committed
}

// known is a run that this process appends to. What another one appends meanwhile meets the
// key of events.
type known struct {
	n    int64 // in the table of runs
	info RunInfo
}

// appending is one call of Append, or something else to do in a transaction, that waits to be committed.
type appending struct {
	events   []Event
	imported bool                        // the events are a whole run of another journal
	do       func(context.Context) error // if there are no events; it may be called again
	alone    bool                        // do is done without a transaction
	sync     bool
	done     chan error // gets the outcome, or errLead
}

// errLead tells one who waits that the next commit is its own to make.
var errLead = errors.New("lead")

// Open opens the journal in a file, and makes it, readable by its owner only, and its folder if
// they are not there. A file that is something else, is damaged, is
// from a newer version ([ErrNewer]), is locked or cannot be written is an error that says so.
func Open(path string) (*SQLite, error) { return open(path, lockWait, "") }

// open is Open with another time to wait, and with another file system of SQLite's by its name.
func open(path string, wait time.Duration, vfs string) (*SQLite, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	query := url.Values{
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()),
			"synchronous(EXTRA)", "foreign_keys(ON)", "cell_size_check(ON)", "trusted_schema(OFF)",
			"journal_size_limit(67108864)", "secure_delete(FAST)",
		},
		"_defensive": {"1"}, "_dqs": {"0"}, "_error_rc": {"1"},
	}
	if vfs != "" {
		query.Set("vfs", vfs)
	}
	// The path of a URI is absolute here: SQLite takes a relative one for an authority if it begins with two slashes.
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w", path, err)
	}
	s := &SQLite{path: path, wait: wait, db: db, stmt: map[string]*sql.Stmt{}, runs: map[string]*known{}, claims: map[string]string{}}
	s.idle.L = &s.mu
	if err := s.prepare(context.Background()); err != nil {
		s.db.Close()
		return nil, s.explain(err)
	}
	return s, nil
}

// create makes the file and its folder, before SQLite would with wider permissions.
func create(path string) error {
	if path == "" || strings.ContainsRune(path, 0) {
		return fmt.Errorf("path: got %q, want the name of a file", path)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes the names in a folder as durable as what is written under them.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}

// Append implements [Store]. It does not heed the end of ctx once it has begun.
func (s *SQLite) Append(ctx context.Context, events []Event, sync bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	return s.take(ctx, &appending{events: events, sync: sync})
}

// take waits for a's turn and commits it, with others perhaps.
func (s *SQLite) take(ctx context.Context, a *appending) error {
	a.done = make(chan error, 1)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.waiting = append(s.waiting, a)
	first := !s.leading
	s.leading = true
	s.mu.Unlock()
	if !first {
		if err := <-a.done; err != errLead {
			return err
		}
	}
	s.lead(context.WithoutCancel(ctx))
	return <-a.done
}

// lead commits those who wait, the caller among them, and leaves the next commit to the next one who waits.
func (s *SQLite) lead(ctx context.Context) {
	s.mu.Lock()
	n, events := 0, 0
	for n < len(s.waiting) && (n == 0 || events+len(s.waiting[n].events) <= groupEvents && !s.waiting[0].alone && !s.waiting[n].alone) {
		events += len(s.waiting[n].events)
		n++
	}
	group := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	s.mu.Unlock()

	err := s.commit(ctx, group)
	for _, a := range group {
		if err != nil && len(group) > 1 {
			// One of them spoilt it for all: each on its own.
			a.done <- s.commit(ctx, []*appending{a})
			continue
		}
		a.done <- err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 {
		s.waiting[0].done <- errLead
		return
	}
	s.leading = false
	s.idle.Broadcast()
}

// commit stores the events of a group in one transaction.
func (s *SQLite) commit(ctx context.Context, group []*appending) (err error) {
	synchronous := "NORMAL"
	for _, a := range group {
		if a.sync {
			synchronous = "FULL"
		}
	}
	if synchronous != s.synchronous {
		// Not a statement made beforehand: SQLite obeys this pragma while it compiles it.
		if _, err := s.conn.ExecContext(ctx, "PRAGMA synchronous = "+synchronous); err != nil {
			return s.explain(err)
		}
		s.synchronous = synchronous
	}
	if a := group[0]; a.alone {
		if err := a.do(ctx); err != nil {
			return s.explain(err)
		}
		return nil
	}
	if err := s.exec(ctx, "begin"); err != nil {
		return s.explain(err)
	}
	for _, a := range group {
		if a.do != nil {
			err = a.do(ctx)
		} else {
			err = s.insert(ctx, a.events, a.imported)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = s.exec(ctx, "commit")
	}
	if err != nil {
		for _, a := range group {
			if len(a.events) > 0 {
				delete(s.runs, a.events[0].Run)
			}
		}
		// SQLite has undone it already if the disk is full or failed.
		if undo := s.exec(ctx, "rollback"); undo != nil && !noTransaction(undo) {
			err = errors.Join(err, undo)
		}
		return s.explain(err)
	}
	s.commits.Add(1)
	return nil
}

// insert stores events of one run and brings the list of runs and the ledger up to date.
func (s *SQLite) insert(ctx context.Context, events []Event, imported bool) error {
	run, err := s.known(ctx, events[0].Run)
	if err != nil {
		return err
	}
	after, err := run.info.follow(events)
	if err != nil {
		return err
	}
	if run.n == 0 {
		res, err := s.stmt["add"].ExecContext(ctx, after.ID, after.Agent, timeText(after.Start), timeText(after.End), after.Status, after.Events, after.Head)
		if err != nil {
			return err
		}
		if run.n, err = res.LastInsertId(); err != nil {
			return err
		}
	} else {
		// While a run goes on its status stays: to set it all the same would write the index of runs under way anew.
		stmt, args := "advance", []any{after.Events, after.Head, run.n}
		if after.Status != StatusRunning || run.info.Status != StatusRunning {
			stmt, args = "update", append([]any{timeText(after.End), after.Status}, args...)
		}
		res, err := s.stmt[stmt].ExecContext(ctx, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, fmt.Errorf("journal: run %s: taken out of the journal meanwhile: %w", after.ID, ErrConflict))
		}
	}
	for _, e := range events {
		if err := s.exec(ctx, "event", place(run.n, e.Seq), timeText(e.Time), string(e.Type), e.Call, []byte(e.Payload), e.Salt, e.Digest, e.Hash); err != nil {
			return err
		}
	}
	run.info = after
	return s.enter(ctx, events, imported)
}

// known returns what is known of a run, from the database the first time.
func (s *SQLite) known(ctx context.Context, id string) (*known, error) {
	if run := s.runs[id]; run != nil {
		return run, nil
	}
	run := &known{info: RunInfo{ID: id}}
	var end, start string
	err := s.stmt["run"].QueryRowContext(ctx, id).
		Scan(&run.n, &run.info.Agent, &start, &end, &run.info.Status, &run.info.Events, &run.info.Head)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	s.runs[id] = run
	return run, nil
}

func (s *SQLite) exec(ctx context.Context, stmt string, args ...any) error {
	_, err := s.stmt[stmt].ExecContext(ctx, args...)
	return err
}

// Read implements [Store].
func (s *SQLite) Read(ctx context.Context, run string, from int64) ([]Event, error) {
	events, err := s.read(ctx, run, from, 1<<32-1)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	header := events[:1]
	if events[0].Seq > 1 {
		if header, err = s.read(ctx, run, 1, 1); err != nil {
			return nil, err
		}
	}
	if len(header) > 0 && header[0].Seq == 1 { // or else it is missing, which the chain says
		s.Keys().open(events, header[0])
	}
	return events, nil
}

// read returns events of a run as they are stored.
func (s *SQLite) read(ctx context.Context, run string, from, to int64) ([]Event, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT place & 4294967295, time, type, call, payload, salt, digest, hash
		FROM runs JOIN events ON place BETWEEN (n << 32) + ? AND (n << 32) + ? WHERE id = ? ORDER BY place`, max(from, 1), to, run)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var events []Event
	for rows.Next() {
		e := Event{Run: run}
		var at string
		var payload []byte
		if err := rows.Scan(&e.Seq, &at, &e.Type, &e.Call, &payload, &e.Salt, &e.Digest, &e.Hash); err != nil {
			return nil, s.explain(err)
		}
		if e.Time, err = parseTime(at); err != nil {
			return nil, fmt.Errorf("journal: %s: event %d of run %s: %w", s.path, e.Seq, run, err)
		}
		e.Payload = payload
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return nil, s.explain(err)
	}
	return events, nil
}

// Runs implements [Store]. Newest first is by the order of their beginning, whatever the clock said. Who is at a run is as of the same moment as its status.
func (s *SQLite) Runs(ctx context.Context, limit int) ([]RunInfo, error) {
	if limit <= 0 {
		limit = -1
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, s.explain(err)
	}
	defer tx.Rollback() // nothing was written
	rows, err := tx.QueryContext(ctx, "SELECT id, agent, start, end, status, events, head FROM runs ORDER BY n DESC LIMIT ?", limit)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var out []RunInfo
	for rows.Next() {
		var r RunInfo
		var start, end string
		if err := rows.Scan(&r.ID, &r.Agent, &start, &end, &r.Status, &r.Events, &r.Head); err != nil {
			return nil, s.explain(err)
		}
		var bad [2]error
		r.Start, bad[0] = parseTime(start)
		r.End, bad[1] = parseTime(end)
		if err := errors.Join(bad[:]...); err != nil {
			return nil, fmt.Errorf("journal: %s: run %s: %w", s.path, r.ID, err)
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, s.explain(err)
	}
	held, err := holders(ctx, tx)
	if err != nil {
		return nil, s.explain(err)
	}
	for i, r := range out {
		out[i].Holder = held[r.ID]
	}
	return out, nil
}

// Close waits for appends under way, gives up what is claimed still and closes the file. Appends after it return [ErrClosed].
func (s *SQLite) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for s.leading {
		s.idle.Wait()
	}
	errs := []error{s.releaseAll(context.Background())}
	for _, stmt := range s.stmt {
		errs = append(errs, stmt.Close())
	}
	errs = append(errs, s.conn.Close(), s.db.Close())
	if err := errors.Join(errs...); err != nil {
		return s.explain(err)
	}
	return nil
}

// timeText is how a time stands in the database: "" if it is none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, s)
}
