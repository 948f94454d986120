package std

import (
	"context"
	"path"

	"callgate/builtins"
	"callgate/engine/label"
)

func filesSet() set {
	return set{
		Factory{
			Name:    "files",
			Doc:     "Read files below one folder, and write them if granted.",
			Options: folderOptions(),
			build:   buildFiles,
		},
		[]string{"files.read", "files.read_bytes", "files.list", "files.write", "files.replace", "files.delete"},
	}
}

func buildFiles(_ context.Context, b *builder) (*Toolset, error) {
	f := b.rootFolder()
	if f == nil {
		return nil, nil
	}
	l := b.label(label.Untrusted)
	tools := fileReaders(f, l, f.state(l, false))
	if b.yes("write") {
		tools = append(tools, fileWriters(f, l, f.state(l, true))...)
	}
	return &Toolset{tools, f.root.Close, []Place{f.place(l, b.yes("write"))}}, nil
}

var pathParam = builtins.Param{
	Name: "path", Doc: "Relative to the folder, with slashes.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true, Sink: "path",
}

func fileReaders(f *folder, l label.Label, state *builtins.State) []*builtins.Tool {
	of := builtins.Source{Class: l, Of: "{args.path}"}
	return []*builtins.Tool{{
		Name:       "files.read",
		Doc:        "Return the text of a file.\nFails with not-found, not-text, too-large, not-a-file or invalid-path.",
		Params:     []builtins.Param{pathParam},
		Returns:    schema(textSchema),
		Effects:    builtins.Read,
		Label:      of,
		State:      state,
		Idempotent: true,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			s, err := f.readText(builtins.Arg[string](in, "path"))
			return s, err
		},
	}, {
		Name:       "files.read_bytes",
		Doc:        "Return the content of a file as bytes.\nFails with not-found, too-large, not-a-file or invalid-path.",
		Params:     []builtins.Param{pathParam},
		Returns:    schema(bytesSchema),
		Effects:    builtins.Read,
		Label:      of,
		State:      state,
		Idempotent: true,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			data, err := f.read(builtins.Arg[string](in, "path"))
			return data, err
		},
	}, {
		Name: "files.list",
		Doc:  "List a folder: dicts with path, kind (file, folder, link, other) and size in bytes.",
		Params: []builtins.Param{
			{Name: "path", Doc: `Default: ".", the whole folder.`, Schema: schema(textSchema), Sink: "path"},
			{Name: "recursive", Doc: "List what is below too. Default: False.", Schema: schema(boolSchema), Sink: "none"},
		},
		Returns: schema(`{"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["path", "kind", "size"], "properties": {
			"path": {"type": "string"}, "kind": {"enum": ["file", "folder", "link", "other"]}, "size": {"type": "integer"}}}}`),
		Effects:    builtins.Read,
		Label:      builtins.Source{Class: l, Of: "{item.path}"},
		State:      state,
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			name := "."
			if s, ok := in.Args["path"].(string); ok {
				name = s
			}
			entries, err := f.list(ctx, name, builtins.Arg[bool](in, "recursive"))
			if err != nil {
				return nil, err
			}
			out := make([]any, len(entries))
			for i, e := range entries {
				out[i] = map[string]any{"path": e.path, "kind": e.kind, "size": e.size}
			}
			return out, nil
		},
	}}
}

func fileWriters(f *folder, l label.Label, state *builtins.State) []*builtins.Tool {
	of := builtins.Source{Class: l, Of: "{args.path}"}
	content := builtins.Param{
		Name: "text", Doc: "Text, or bytes.", Required: true, Sink: "content",
		Schema: schema(`{"anyOf": [{"type": "string"}, ` + bytesSchema + `]}`),
	}
	written := schema(`{"type": "object", "additionalProperties": false, "required": ["path", "size", "created"], "properties": {
		"path": {"type": "string"}, "size": {"type": "integer"}, "created": {"type": "boolean"}}}`)
	write := func(replace bool) func(context.Context, *builtins.Invocation) (any, error) {
		return func(ctx context.Context, in *builtins.Invocation) (any, error) {
			var data []byte
			switch text := in.Args["text"].(type) {
			case string:
				data = []byte(text)
			case []byte:
				data = text
			default:
				return nil, fail("invalid", "text: want text or bytes")
			}
			name := builtins.Arg[string](in, "path")
			created, err := f.write(ctx, name, data, replace)
			if err != nil {
				return nil, err
			}
			return map[string]any{"path": path.Clean(name), "size": len(data), "created": created}, nil
		}
	}
	return []*builtins.Tool{{
		Name: "files.write",
		Doc: "Make a file that is not there yet, with the folders above it.\nFails with exists if a file with another content is there: " +
			"files.replace replaces it.",
		Params:     []builtins.Param{pathParam, content},
		Returns:    written,
		Effects:    builtins.Write,
		Label:      of,
		State:      state,
		Idempotent: true,
		Run:        write(false),
	}, {
		Name:       "files.replace",
		Doc:        "Make a file, or replace the whole content of one that is there.",
		Params:     []builtins.Param{pathParam, content},
		Returns:    written,
		Effects:    builtins.Write | builtins.Destructive,
		Label:      of,
		State:      state,
		Idempotent: true,
		Run:        write(true),
	}, {
		Name:       "files.delete",
		Doc:        "Delete a file. Returns whether it was there.",
		Params:     []builtins.Param{pathParam},
		Returns:    schema(boolSchema),
		Effects:    builtins.Destructive,
		Label:      of,
		State:      state,
		Idempotent: true,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			there, err := f.remove(builtins.Arg[string](in, "path"))
			return there, err
		},
	}}
}
