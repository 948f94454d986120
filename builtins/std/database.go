package std

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

const (
	maxQueryRows  = 1000
	maxQueryBytes = 1 << 20
	queryTimeout  = 10 * time.Second
)

// databaseOptions are the options of toolsets that work on one database.
func databaseOptions(trust string) []builtins.Param {
	return append([]builtins.Param{
		{Name: "database", Doc: "The SQLite file: a path below the state folder, or without a seed an absolute one.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true},
		{Name: "seed", Doc: "SQL, relative to the agent file, that makes the database if it is not there.", Schema: schema(`{"type": "string", "minLength": 1}`)},
	}, labelOptions(trust)...)
}

// database is one SQLite file.
type database struct {
	file  string
	given string // its name in the option
	name  string // of its namespace
}

// database finds the file that the option names, and makes it from its seed if it is not there. It reports what is
// wrong and returns nil.
func (b *builder) database(ctx context.Context) *database {
	name, seed := b.text("database", ""), b.text("seed", "")
	inState := seed != "" || !filepath.IsAbs(name) // one that is there already may be anywhere
	db := &database{b.place("database", name, inState), name, "database:" + path.Clean(filepath.ToSlash(name))}
	if db.file == "" {
		return nil
	}
	st, err := os.Stat(db.file)
	switch {
	case err == nil && st.Mode().IsRegular():
		return db
	case err == nil:
		b.fail("database", fmt.Sprintf("got %q, want a regular file", name))
	case !errors.Is(err, os.ErrNotExist):
		b.failed("database", err)
	case seed == "":
		b.fail("database", fmt.Sprintf("%q is not there, and no seed to make it from", name))
	default:
		err := db.make(ctx, b.place("seed", seed, false))
		if err == nil {
			return db
		}
		b.failed("seed", err)
	}
	return nil
}

// make runs the seed in a new file beside the database, which then takes its name, whole
// or not at all.
func (db *database) make(ctx context.Context, seed string) error {
	script, err := os.ReadFile(seed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(db.file), 0o700); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(db.file), tempPrefix+randomName()+".db")
	defer os.Remove(temp)
	within, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = (&database{file: temp}).with(writing, mayMake, func(conn *sql.DB) error {
		_, err := conn.ExecContext(within, string(script))
		return err
	})
	switch {
	case within.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%s: not done within %s", filepath.Base(seed), queryTimeout)
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Base(seed), err)
	}
	// Somebody else may have made it meanwhile: theirs is as good.
	if err := os.Link(temp, db.file); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func (db *database) with(m mode, allow sqlite.AuthorizerFn, f func(*sql.DB) error) error {
	conn, err := db.open(m, allow)
	if err != nil {
		return err
	}
	return errors.Join(f(conn), conn.Close())
}

// state is the database as a namespace with one label.
func (db *database) state(l label.Label, write bool) *builtins.State {
	return &builtins.State{Name: db.name, Write: write, Label: l}
}

// place is the database as a place of the host.
func (db *database) place(l label.Label, write bool) Place {
	real, err := filepath.EvalSymlinks(db.file)
	if err != nil { // it is gone: nothing else is there
		real = db.file
	}
	return Place{db.given, real, l, write}
}

// mode says what a connection may do.
type mode int

const (
	reading mode = iota
	writing
)

// open returns connections on which SQLite asks allow, if it is set, before it compiles anything.
func (db *database) open(m mode, allow sqlite.AuthorizerFn) (*sql.DB, error) {
	options := url.Values{
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_busy_timeout": {"5000"},
		"_foreign_keys": {"on"},
		"_synchronous":  {"full"},
		"_txlock":       {"immediate"},
		"_pragma":       {"trusted_schema(0)"},
	}
	if m == reading {
		options.Set("mode", "ro")
		options.Set("_query_only", "on")
	}
	p := filepath.ToSlash(db.file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: p, RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, err
	}
	conn := sql.OpenDB(guarded{connector, allow})
	conn.SetMaxOpenConns(2)
	return conn, nil
}

// guarded opens connections that ask allow.
type guarded struct {
	driver.Connector
	allow sqlite.AuthorizerFn
}

func (g guarded) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := g.Connector.Connect(ctx)
	if err != nil || g.allow == nil {
		return c, err
	}
	if err := c.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(g.allow); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// forbidden are functions that reach out of the database or into the process.
var forbidden = []string{"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "sqlite_compileoption_get"}

// rawTables show the pages of the file, with what has been deleted.
var rawTables = []string{"sqlite_dbpage", "dbstat"}

// mayRead lets statements read tables and call functions, nothing else: no PRAGMA, no ATTACH, no
// transaction, no change.
func mayRead(action sqlite.AuthorizerActionCode, table, name, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthRead:
		if !slices.Contains(rawTables, strings.ToLower(table)) {
			return sqlite.AuthorizerOK
		}
	case sqlite.AuthFunction:
		if !slices.Contains(forbidden, strings.ToLower(name)) {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

// mayChange lets statements change rows besides.
func mayChange(action sqlite.AuthorizerActionCode, table, name, db, by string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthDelete:
		if !strings.HasPrefix(strings.ToLower(table), "sqlite_") {
			return sqlite.AuthorizerOK
		}
	}
	return mayRead(action, table, name, db, by)
}

// seedPragmas are those that say something of the database itself.
var seedPragmas = []string{"foreign_keys", "user_version", "application_id", "encoding", "page_size", "auto_vacuum"}

// mayMake lets a seed do with its own database whatever it wants, and reach nothing else: who checks an agent's
// file runs its seed.
func mayMake(action sqlite.AuthorizerActionCode, table, name, _, _ string) sqlite.AuthorizerReturnCode {
	switch {
	case action == sqlite.AuthAttach, action == sqlite.AuthDetach,
		action == sqlite.AuthPragma && !slices.Contains(seedPragmas, strings.ToLower(table)),
		action == sqlite.AuthFunction && slices.Contains(forbidden, strings.ToLower(name)):
		return sqlite.AuthorizerDeny
	}
	return sqlite.AuthorizerOK
}

// limited takes one connection and bounds what a statement on it may ask for.
func limited(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for id, most := range map[int]int{
		sqlite3.SQLITE_LIMIT_LENGTH:              maxQueryBytes,
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:          64 << 10,
		sqlite3.SQLITE_LIMIT_COLUMN:              200,
		sqlite3.SQLITE_LIMIT_EXPR_DEPTH:          100,
		sqlite3.SQLITE_LIMIT_COMPOUND_SELECT:     20,
		sqlite3.SQLITE_LIMIT_VDBE_OP:             100_000,
		sqlite3.SQLITE_LIMIT_FUNCTION_ARG:        20,
		sqlite3.SQLITE_LIMIT_ATTACHED:            0,
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
		sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER:     200,
		sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH:       10,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
	} {
		if _, err := sqlite.Limit(conn, id, most); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// bindings turns a program's parameters into what the driver takes.
func bindings(params []any) ([]any, error) {
	out := make([]any, len(params))
	for i, p := range params {
		switch p := p.(type) {
		case nil, bool, int64, float64, string, []byte:
			out[i] = p
		case *big.Int:
			return nil, fail("invalid", "params[%d]: an int of more than 64 bits", i)
		default:
			return nil, fail("invalid", "params[%d]: want a number, text, bytes, a bool or None", i)
		}
	}
	return out, nil
}

// columnsOf returns the names of the columns of a query, which must differ. It prepares the
// query and does not run it.
func columnsOf(conn *sql.Conn, query string) ([]string, error) {
	var out []string
	err := conn.Raw(func(c any) error {
		columns, err := c.(interface {
			ColumnInfo(string) ([]sqlite.ColumnInfo, error)
		}).ColumnInfo(query)
		for i, column := range columns {
			if c := column.Name; c == "" || slices.Contains(out, c) || !utf8.ValidString(c) {
				return fail("columns", "column %d: got %q, want a name that no other column has: use AS", i+1, c)
			}
			out = append(out, column.Name)
		}
		return err
	})
	return out, err
}

// inOneStep wraps a query so that all of its work is done before its first row is there. The driver stops
// a query whose context ends in that step, and in no later one. The plus hides the declared type of a
// column, by which the driver would make times of dates.
func inOneStep(query string, columns int) string {
	var names, values []string
	for i := range columns {
		names, values = append(names, fmt.Sprintf("c%d", i)), append(values, fmt.Sprintf("+c%d", i))
	}
	return fmt.Sprintf("WITH q(%s) AS MATERIALIZED (SELECT * FROM (\n%s\n) LIMIT %d) SELECT %s FROM q",
		strings.Join(names, ", "), query, maxQueryRows+1, strings.Join(values, ", "))
}

// rowsOf reads rows as dicts in the order of the columns.
func rowsOf(rows *sql.Rows, columns []string) ([]any, error) {
	out, size := []any{}, 0
	cells := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]value.Field, len(columns))
		for i, c := range columns {
			x := cells[i]
			switch t := x.(type) {
			case string:
				size += len(t)
				if !utf8.ValidString(t) {
					x = []byte(t)
				}
			case []byte:
				size += len(t)
			}
			v, err := value.Of(x, label.Bottom())
			if err != nil {
				return nil, err
			}
			row[i], size = value.Field{Name: c, Of: v}, size+16
		}
		if len(out) == maxQueryRows || size > maxQueryBytes {
			return nil, fail("too-large", "more than %d rows or %d bytes; use LIMIT, or fewer columns", maxQueryRows, maxQueryBytes)
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// oneStatement returns the one SQL statement that a text holds, without the semicolon that ends
// it. SQLite itself would run any number of them.
func oneStatement(text string) (string, error) {
	end := len(text)
	for i := 0; i < len(text); {
		c := text[i]
		skip := 1
		switch {
		case strings.HasPrefix(text[i:], "--"):
			skip = until(text[i:], "\n")
		case strings.HasPrefix(text[i:], "/*"):
			skip = 2 + until(text[i+2:], "*/")
		case c == ';':
			end = min(end, i)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		case i > end:
			return "", fail("sql", "got more than one statement, want one")
		case c == '\'' || c == '"' || c == '`':
			skip = 1 + until(text[i+1:], string(c)) // a doubled quote begins the next piece
		case c == '[':
			skip = 1 + until(text[i+1:], "]")
		case c == 0:
			return "", fail("sql", "got a NUL character")
		}
		i += skip
	}
	return text[:end], nil
}

// until returns how many bytes of s there are up to and with an end, or all.
func until(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// sqlFailed turns an error of the database into one that programs can tell apart; what ended
// because ctx did says so.
func sqlFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*builtins.Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_AUTH:
			return fail("sql-not-allowed", "%v", err)
		case sqlite3.SQLITE_CONSTRAINT:
			return fail("constraint", "%v", err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fail("busy", "%v", err)
		case sqlite3.SQLITE_TOOBIG:
			return fail("too-large", "%v", err)
		}
	}
	return fail("sql", "%v", err)
}
