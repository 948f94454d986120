package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// plain turns a node into plain data: nil, bool, int, float64, string, []any,
// map[string]any. With include, a map whose only key is file stands for what is in the file.
func (n *node) plain(include func(n *node) any) any {
	if n == nil {
		return nil
	}
	switch n.kind {
	case boolNode:
		return n.b
	case intNode:
		return int(n.i)
	case floatNode:
		return n.f
	case textNode:
		return n.text
	case listNode:
		out := []any{}
		for _, item := range n.items {
			out = append(out, item.plain(include))
		}
		return out
	case mapNode:
		if include != nil && len(n.keys) == 1 && n.keys[0].text == "file" && n.items[0].kind == textNode {
			return include(n.items[0])
		}
		out := map[string]any{}
		for i, item := range n.items {
			out[n.keys[i].text] = item.plain(include)
		}
		return out
	}
	return nil
}

// plainMap is plain for a map; nil if it is not there.
func (n *node) plainMap(include func(n *node) any) map[string]any {
	if n == nil || n.kind != mapNode {
		return nil
	}
	out := map[string]any{}
	for i, item := range n.items {
		out[n.keys[i].text] = item.plain(include)
	}
	return out
}

// dataFile returns what reads {file: PATH} in the parameters of a document. Only files
// in the root folder or below are read, whatever links there are.
func (l *loader) dataFile(root, dir string) func(n *node) any {
	return func(n *node) any {
		name, err := filepath.Rel(root, filepath.Join(dir, filepath.FromSlash(n.text)))
		if err != nil || filepath.IsAbs(n.text) || !filepath.IsLocal(name) {
			l.problem(n.pos, "", "%s: outside of the folder %s", quoted(n.text), root)
			return nil
		}
		shown := filepath.Join(root, name)
		format := filepath.Ext(name)
		if !slices.Contains([]string{".json", ".yaml", ".yml"}, format) {
			l.problem(n.pos, "", "%s: want a .yaml or .json file", shown)
			return nil
		}
		most := int64(maxFile)
		if format == ".json" {
			most = maxData
		}
		l.touched[shown] = true
		text, err := readText(func() (fs.File, error) { return openIn(root, name) }, most)
		if err != nil {
			l.problem(n.pos, "", "%s: %v", shown, err)
			return nil
		}
		src := newSource(shown, text)
		if format == ".json" {
			return l.json(src, n.pos)
		}
		docs := parse(src, l.report)
		if len(docs) > 1 {
			l.problem(docs[1].pos, "", "got %d documents, want one", len(docs))
		}
		if len(docs) == 0 {
			return nil
		}
		(&checker{l.report}).data(docs[0], "")
		return docs[0].plain(nil)
	}
}

// openIn opens a regular file below a folder.
func openIn(folder, name string) (fs.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("not a regular file")
	}
	return root.Open(name)
}

// json reads plain data from JSON: no key twice, no number that a float would round away to infinity,
// nothing after the value.
func (l *loader) json(src *source, from Position) any {
	if !utf8.Valid(src.text) {
		l.problem(from, "", "%s: a byte that is not UTF-8", src.name)
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(src.text))
	d.UseNumber()
	v, err := jsonValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("text after the value")
		}
	}
	if err != nil {
		at := int(d.InputOffset())
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(0, int(syntax.Offset)-1)
		}
		l.problem(src.at(min(at, len(src.text))), "", "%s", strings.TrimPrefix(err.Error(), "json: "))
		return nil
	}
	return v
}

func jsonValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file ends too early")
	}
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return int(i), nil
		}
		f, err := t.Float64()
		if err != nil || !strings.ContainsAny(t.String(), ".eE") || math.IsInf(f, 0) {
			return nil, fmt.Errorf("number %s: too large", quoted(t.String()))
		}
		return f, nil
	case json.Delim:
		if t == '[' {
			out := []any{}
			for d.More() {
				v, err := jsonValue(d, depth+1)
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
			_, err := d.Token()
			return out, err
		}
		return jsonObject(d, depth)
	}
	return t, nil
}

func jsonObject(d *json.Decoder, depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, errors.New("want a key in quotes")
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("key %s: written twice", quoted(name))
		}
		if out[name], err = jsonValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return out, err
}
