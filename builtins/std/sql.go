package std

import (
	"context"
	"database/sql"

	"callgate/builtins"
	"callgate/engine/label"
)

func sqlSet() set {
	return set{
		Factory{
			Name: "sql",
			Doc:  "Query one SQLite database, and change its rows if granted. Values go in as parameters.",
			Options: append(databaseOptions("untrusted"),
				builtins.Param{Name: "write", Doc: "Grant sql.exec. Default: false.", Schema: schema(boolSchema)}),
			build: buildSQL,
		},
		[]string{"sql.query", "sql.exec"},
	}
}

var bindParam = builtins.Param{
	Name: "params", Doc: "Values for the question marks, in order.", Sink: "none",
	Schema: schema(`{"type": "array", "maxItems": 200}`),
}

func buildSQL(ctx context.Context, b *builder) (*Toolset, error) {
	db := b.database(ctx)
	if db == nil {
		return nil, nil
	}
	l := b.label(label.Untrusted)
	reader, err := db.open(reading, mayRead)
	if err != nil {
		return nil, err
	}
	ts := &Toolset{[]*builtins.Tool{sqlQuery(db, reader, l)}, reader.Close, []Place{db.place(l, b.yes("write"))}}
	if !b.yes("write") {
		return ts, nil
	}
	writer, err := db.open(writing, mayChange)
	if err != nil {
		return ts, err
	}
	ts.Tools = append(ts.Tools, sqlExec(db, writer, l))
	ts.Close = func() error {
		err := writer.Close()
		if e := reader.Close(); err == nil {
			err = e
		}
		return err
	}
	return ts, nil
}

func sqlQuery(db *database, reader *sql.DB, l label.Label) *builtins.Tool {
	return &builtins.Tool{
		Name: "sql.query",
		Doc: "Return the rows of one SELECT statement (SQLite): dicts by column. Write ? for each value and give the values as params.\n" +
			"Fails with sql, sql-not-allowed, columns or too-large.",
		Params: []builtins.Param{
			{Name: "query", Doc: "One SELECT statement.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true, Sink: "query"},
			bindParam,
		},
		Returns:    schema(`{"type": "array", "items": {"type": "object"}}`),
		Effects:    builtins.Read,
		Label:      builtins.Source{Class: l, Of: db.name},
		State:      db.state(l, false),
		Idempotent: true,
		Timeout:    queryTimeout,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			rows, err := query(ctx, reader, in)
			if err != nil {
				return nil, sqlFailed(ctx, err)
			}
			return rows, nil
		},
	}
}

func query(ctx context.Context, db *sql.DB, in *builtins.Invocation) (any, error) {
	text, err := oneStatement(builtins.Arg[string](in, "query"))
	if err != nil {
		return nil, err
	}
	params, err := bindings(builtins.Arg[[]any](in, "params"))
	if err != nil {
		return nil, err
	}
	conn, err := limited(ctx, db)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	columns, err := columnsOf(conn, text)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, fail("sql", "want a SELECT statement")
	}
	rows, err := conn.QueryContext(ctx, inOneStep(text, len(columns)), params...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rowsOf(rows, columns)
}

func sqlExec(db *database, writer *sql.DB, l label.Label) *builtins.Tool {
	return &builtins.Tool{
		Name: "sql.exec",
		Doc: "Run one INSERT, UPDATE or DELETE statement (SQLite) and return how many rows it changed. Write ? for each value.\n" +
			"Fails with sql, sql-not-allowed, constraint or busy.",
		Params: []builtins.Param{
			{Name: "statement", Doc: "One INSERT, UPDATE or DELETE statement.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true, Sink: "query"},
			bindParam,
		},
		Returns: schema(`{"type": "integer"}`),
		Effects: builtins.Write | builtins.Destructive,
		Label:   builtins.Source{Class: l, Of: db.name},
		State:   db.state(l, true),
		Timeout: queryTimeout,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			n, err := exec(ctx, writer, in)
			if err != nil {
				return nil, sqlFailed(ctx, err)
			}
			return n, nil
		},
	}
}

func exec(ctx context.Context, db *sql.DB, in *builtins.Invocation) (any, error) {
	text, err := oneStatement(builtins.Arg[string](in, "statement"))
	if err != nil {
		return nil, err
	}
	params, err := bindings(builtins.Arg[[]any](in, "params"))
	if err != nil {
		return nil, err
	}
	conn, err := limited(ctx, db)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// The driver says how many rows the last statement changed that changed any: a SELECT has not.
	changed := func() (n int64, err error) {
		return n, conn.QueryRowContext(ctx, "SELECT total_changes()").Scan(&n)
	}
	before, err := changed()
	if err != nil {
		return nil, err
	}
	done, err := conn.ExecContext(ctx, text, params...)
	if err != nil {
		return nil, err
	}
	if after, err := changed(); err != nil || after == before {
		return int64(0), err
	}
	return done.RowsAffected()
}
