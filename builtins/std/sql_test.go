package std

import (
	"context"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const tableSQL = `
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, day DATE, price REAL, raw BLOB);
INSERT INTO t VALUES (1, 'one', '2026-01-02', 1.5, x'ff00'), (2, 'two; DROP', 'soon', NULL, NULL);
CREATE VIEW v AS SELECT name FROM t;
`

func sqlKit(t *testing.T, options map[string]any) (*kit, Env) {
	t.Helper()
	env := place(t, map[string]string{"t.sql": tableSQL})
	all := map[string]any{"database": "dir/a b?#%.db", "seed": "t.sql"}
	for k, v := range options {
		all[k] = v
	}
	return build(t, "sql", env, all), env
}

func TestSQLQuery(t *testing.T) {
	k, env := sqlKit(t, map[string]any{"write": true, "trust": "internal"})
	big1 := new(big.Int).Lsh(big.NewInt(1), 70)
	for _, test := range []struct {
		name   string
		query  string
		params []any
		want   string
	}{
		{"rows in the order of columns", "SELECT price, id FROM t ORDER BY id", nil, `[{"price": 1.5, "id": 1}, {"price": None, "id": 2}]`},
		{"every type", "SELECT * FROM t WHERE id = 1", nil, `[{"id": 1, "name": "one", "day": "2026-01-02", "price": 1.5, "raw": b"\xff\x00"}]`},
		{"parameters", "SELECT id FROM t WHERE name = ? OR price > ? ORDER BY id DESC", []any{"two; DROP", 1}, `[{"id": 2}, {"id": 1}]`},
		{"a parameter is never SQL", "SELECT id FROM t WHERE name = ?", []any{"' OR 1=1 --"}, `[]`},
		{"parameters of every type", "SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e", []any{nil, true, 1.5, []byte{1}, "x"}, `[{"a": None, "b": 1, "c": 1.5, "d": b"\x01", "e": "x"}]`},
		{"a view", "SELECT count(*) AS n FROM v", nil, `[{"n": 2}]`},
		{"the order of the query is kept", "SELECT id FROM t ORDER BY id DESC", nil, `[{"id": 2}, {"id": 1}]`},
		{"the schema", "SELECT name FROM sqlite_master WHERE type = 'view'", nil, `[{"name": "v"}]`},
		{"semicolons in quotes and comments", "SELECT 'a;b' AS \"c;d\" /* ; x */ -- ; y\n;; -- z", nil, `[{"c;d": "a;b"}]`},
		{"a comment at the end", "SELECT 1 AS a -- here", nil, `[{"a": 1}]`},
		{"text that is not UTF-8", "SELECT CAST(x'ff' AS TEXT) AS a", nil, `[{"a": b"\xff"}]`},
		{"values alone", "VALUES (1), (2)", nil, `[{"column1": 1}, {"column1": 2}]`},
		{"two statements", "SELECT 1 AS a; DELETE FROM t", nil, "sql"},
		{"a second statement after a comment", "SELECT 1 AS a; -- x\nDELETE FROM t", nil, "sql"},
		{"a second statement after a doubled quote", "SELECT 'it''s' AS a; DELETE FROM t", nil, "sql"},
		{"a statement that escapes the query", "SELECT 1 AS a) SELECT * FROM q; --", nil, "sql"},
		{"a NUL", "SELECT 1 AS a\x00; DELETE FROM t", nil, "sql"},
		{"no statement", "-- nothing", nil, "sql"},
		{"no SQL", "SELEC 1", nil, "sql"},
		{"two columns of one name", "SELECT 1 AS a, 2 AS a", nil, "columns"},
		{"too few parameters", "SELECT ? AS a", nil, "sql"},
		{"a big int", "SELECT ? AS a", []any{big1}, "invalid"},
		{"a list for a parameter", "SELECT ? AS a", []any{[]any{1}}, "invalid"},
		{"a change", "DELETE FROM t", nil, "sql-not-allowed"},
		{"a change that returns rows", "DELETE FROM t RETURNING id", nil, "sql-not-allowed"},
		{"a change within a WITH", "WITH x AS (SELECT 1) INSERT INTO t (id) SELECT * FROM x", nil, "sql-not-allowed"},
		{"a table", "CREATE TABLE x (a)", nil, "sql-not-allowed"},
		{"a temporary table", "CREATE TEMP TABLE x AS SELECT 1", nil, "sql-not-allowed"},
		{"another database", "ATTACH '/tmp/x.db' AS x", nil, "sql-not-allowed"},
		{"a setting", "PRAGMA query_only = off", nil, "sql-not-allowed"},
		{"a setting as a table", "SELECT * FROM pragma_database_list", nil, "sql-not-allowed"},
		{"a copy of the file", "VACUUM INTO '/tmp/callgate-test-x.db'", nil, "sql"},
		{"an extension", "SELECT load_extension('x') AS a", nil, "sql"},
		{"the pages of the file", "SELECT data FROM sqlite_dbpage", nil, "sql-not-allowed"},
		{"the sizes of its pages", "SELECT * FROM dbstat", nil, "sql-not-allowed"},
		{"a transaction", "BEGIN", nil, "sql-not-allowed"},
		{"a text of a gigabyte", "SELECT printf('%1000000000d', 1) AS a", nil, "too-large"},
		{"a blob of a gigabyte", "SELECT zeroblob(1000000000) AS a", nil, "too-large"},
		{"too many rows", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 5000) SELECT x FROM c", nil, "too-large"},
		{"as many rows as there may be", "SELECT count(*) AS n FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 5000) SELECT x FROM c)", nil, `[{"n": 5000}]`},
		{"a deep expression", "SELECT " + strings.Repeat("1+(", 500) + "1" + strings.Repeat(")", 500) + " AS a", nil, "sql"},
		{"a long statement", "SELECT '" + strings.Repeat("x", 70000) + "' AS a", nil, "too-large"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			args := map[string]any{"query": test.query}
			if test.params != nil {
				args["params"] = test.params
			}
			got := ""
			if strings.HasPrefix(test.want, "[") {
				got = k.must("sql.query", args)
			} else {
				got = k.fails("sql.query", args)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	k.t = t
	if got := k.must("sql.query", map[string]any{"query": "SELECT count(*) AS n FROM t"}); got != `[{"n": 2}]` {
		t.Errorf("afterwards there are %s rows", got)
	}
	for _, name := range []string{"/tmp/x.db", "/tmp/callgate-test-x.db"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	v, err := k.call("sql.query", map[string]any{"query": "SELECT 1 AS a"})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Deep(); got.String() != "internal/{ana@corp.example}" || got.Explain(9) != "sql.query database:dir/a b?#%.db" {
		t.Errorf("labelled %s from %s", got, got.Explain(9))
	}
	if _, err := os.Stat(filepath.Join(env.State, "dir", "a b?#%.db")); err != nil {
		t.Error(err)
	}
}

// A query that would not end is stopped, whether it finds its first row at once, late or never.
func TestSQLQueryIsStopped(t *testing.T) {
	k, _ := sqlKit(t, nil)
	count := "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"
	for _, query := range []string{
		count + " WHERE x < 0",
		count + " WHERE x < 2 OR x < 0",
		count + " ORDER BY x",
		"SELECT count(*) AS n FROM (" + count + ")",
		"SELECT group_concat('') AS s FROM (" + count + ")",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		k.ctx = ctx
		start := time.Now()
		_, err := k.call("sql.query", map[string]any{"query": query})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", query, err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: stopped after %v", query, d)
		}
		cancel()
	}
	k.ctx = t.Context()
	if got := k.must("sql.query", map[string]any{"query": "SELECT 1 AS a"}); got != `[{"a": 1}]` {
		t.Errorf("afterwards: %s", got)
	}
}

func TestSQLExec(t *testing.T) {
	if k, _ := sqlKit(t, nil); k.tools["sql.exec"] != nil {
		t.Error("sql.exec was granted without being asked for")
	}
	k, _ := sqlKit(t, map[string]any{"write": true})
	for _, test := range []struct {
		name      string
		statement string
		params    []any
		want      string
	}{
		{"a row more", "INSERT INTO t (id, name) VALUES (?, ?)", []any{3, "three"}, "1"},
		{"a row like another", "INSERT INTO t (name) VALUES ('three')", nil, "constraint"},
		{"rows changed", "UPDATE t SET price = 2 WHERE id < ?;", []any{3}, "2"},
		{"rows deleted", "DELETE FROM t WHERE name = ?", []any{"three"}, "1"},
		{"a question, which changes no row", "SELECT id FROM t", nil, "0"},
		{"no row", "DELETE FROM t WHERE id = 99", nil, "0"},
		{"two statements", "DELETE FROM t WHERE id = 99; DELETE FROM t", nil, "sql"},
		{"a table dropped", "DROP TABLE t", nil, "sql-not-allowed"},
		{"a table made", "CREATE TABLE x (a)", nil, "sql-not-allowed"},
		{"a trigger", "CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t; END", nil, "sql"},
		{"the schema changed", "UPDATE sqlite_master SET sql = ''", nil, "sql"},
		{"another database", "ATTACH '/tmp/x.db' AS x", nil, "sql-not-allowed"},
		{"a copy of the file", "VACUUM INTO '/tmp/callgate-test-y.db'", nil, "sql-not-allowed"},
		{"a setting", "PRAGMA journal_mode = off", nil, "sql-not-allowed"},
		{"a transaction left open", "BEGIN", nil, "sql-not-allowed"},
		{"an extension", "UPDATE t SET name = load_extension('x')", nil, "sql"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t = t
			args := map[string]any{"statement": test.statement}
			if test.params != nil {
				args["params"] = test.params
			}
			v, err := k.call("sql.exec", args)
			got := v.Text()
			if err != nil {
				got = k.fails("sql.exec", args)
			}
			if got != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
	k.t = t
	if got := k.must("sql.query", map[string]any{"query": "SELECT id, price FROM t ORDER BY id"}); got != `[{"id": 1, "price": 2.0}, {"id": 2, "price": 2.0}]` {
		t.Errorf("afterwards: %s", got)
	}
	for _, name := range []string{"/tmp/x.db", "/tmp/callgate-test-y.db"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestTheSeedMakesTheDatabaseOnce(t *testing.T) {
	env := place(t, map[string]string{"t.sql": tableSQL})
	options := map[string]any{"database": "t.db", "seed": "t.sql", "write": true}
	build(t, "sql", env, options).must("sql.exec", map[string]any{"statement": "DELETE FROM t WHERE id = 1"})
	if got := build(t, "sql", env, options).must("sql.query", map[string]any{"query": "SELECT id FROM t"}); got != `[{"id": 2}]` {
		t.Errorf("made again: %s", got)
	}
	noTemporaryFiles(t, env.State)
}
