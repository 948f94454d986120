package std

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
)

const maxRows = 100_000

func csvSet() set {
	return set{
		Factory{
			Name:    "csv",
			Doc:     "Read tables from CSV files below one folder, and write them if granted.",
			Options: folderOptions(),
			build:   buildCSV,
		},
		[]string{"csv.read", "csv.write"},
	}
}

var delimiterParam = builtins.Param{
	Name: "delimiter", Doc: `What separates fields: one character. Default: ",".`,
	Schema: schema(`{"enum": [",", ";", "\t", "|"]}`), Sink: "none",
}

func buildCSV(_ context.Context, b *builder) (*Toolset, error) {
	f := b.rootFolder()
	if f == nil {
		return nil, nil
	}
	l := b.label(label.Untrusted)
	read := &builtins.Tool{
		Name: "csv.read",
		Doc: "Return the rows of a CSV file: dicts by the names in its first line, every value a string.\n" +
			"Fails with not-csv, not-found, not-text, too-large, not-a-file or invalid-path.",
		Params:     []builtins.Param{pathParam, delimiterParam},
		Returns:    schema(`{"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}}`),
		Effects:    builtins.Read,
		Label:      builtins.Source{Class: l, Of: "{args.path}"},
		State:      f.state(l, false),
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			name := builtins.Arg[string](in, "path")
			text, err := f.readText(name)
			if err != nil {
				return nil, err
			}
			return readCSV(ctx, name, text, delimiter(in))
		},
	}
	tools := []*builtins.Tool{read}
	if b.yes("write") {
		tools = append(tools, csvWriter(f, l))
	}
	return &Toolset{tools, f.root.Close, []Place{f.place(l, b.yes("write"))}}, nil
}

func delimiter(in *builtins.Invocation) rune {
	for _, r := range builtins.Arg[string](in, "delimiter") {
		return r
	}
	return ','
}

// readCSV returns the rows as dicts in the order of the columns.
func readCSV(ctx context.Context, name, text string, delimiter rune) (any, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = delimiter
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return []any{}, nil
	}
	if err != nil {
		return nil, fail("not-csv", "path %q: %v", name, err)
	}
	for i, h := range header {
		if h == "" || slices.Contains(header[:i], h) {
			return nil, fail("not-csv", "path %q: line 1: column %d: got %q, want a name that no other column has", name, i+1, h)
		}
	}
	rows := []any{}
	for {
		line, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fail("not-csv", "path %q: %v", name, err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case len(rows) == maxRows:
			return nil, fail("too-large", "path %q: more than %d rows", name, maxRows)
		}
		row := make([]value.Field, len(header))
		for i, h := range header {
			row[i] = value.Field{Name: h, Of: value.StringOf(line[i], label.Bottom())}
		}
		rows = append(rows, row)
	}
}

func csvWriter(f *folder, l label.Label) *builtins.Tool {
	return &builtins.Tool{
		Name: "csv.write",
		Doc: "Write rows, dicts of strings and numbers, as a CSV file; it replaces one that is there.\n" +
			"Columns are those named, or else the keys of the first row in alphabetical order.",
		Params: []builtins.Param{
			pathParam,
			{Name: "rows", Doc: "The rows.", Required: true, Sink: "content", Schema: schema(`{"type": "array", "maxItems": 100000, "items": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}}`)},
			{Name: "columns", Doc: "Names of the columns, in order.", Sink: "content", Schema: schema(`{"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "string", "minLength": 1}}`)},
			delimiterParam,
		},
		Returns: schema(`{"type": "object", "additionalProperties": false, "required": ["path", "rows"], "properties": {
			"path": {"type": "string"}, "rows": {"type": "integer"}}}`),
		Effects:    builtins.Write | builtins.Destructive,
		Label:      builtins.Source{Class: l, Of: "{args.path}"},
		State:      f.state(l, true),
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			rows := builtins.Arg[[]any](in, "rows")
			data, err := writeCSV(rows, texts(builtins.Arg[[]any](in, "columns")), delimiter(in))
			if err != nil {
				return nil, err
			}
			name := builtins.Arg[string](in, "path")
			if _, err := f.write(ctx, name, data, true); err != nil {
				return nil, err
			}
			return map[string]any{"path": path.Clean(name), "rows": len(rows)}, nil
		},
	}
}

func writeCSV(rows []any, columns []string, delimiter rune) ([]byte, error) {
	if columns == nil && len(rows) > 0 {
		first, _ := rows[0].(map[string]any)
		for k := range first {
			columns = append(columns, k)
		}
		slices.Sort(columns)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = delimiter
	if err := w.Write(columns); err != nil {
		return nil, err
	}
	for i, r := range rows {
		row, _ := r.(map[string]any)
		line := make([]string, len(columns))
		known := 0
		for j, c := range columns {
			if x, ok := row[c]; ok {
				line[j], known = cell(x), known+1
			}
		}
		if known < len(row) {
			return nil, fail("invalid", "rows[%d]: has keys that are no columns", i)
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func cell(x any) string {
	switch x := x.(type) {
	case nil:
		return ""
	case string:
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	case *big.Int:
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(x)
}
