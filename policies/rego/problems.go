package rego

import (
	"errors"
	"fmt"
	"strings"

	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
)

func position(loc *ast.Location, path string) spec.Position {
	if loc == nil {
		return spec.Position{File: path}
	}
	return spec.Position{File: path, Line: loc.Row, Column: max(loc.Col, 1)}
}

func parseProblems(path string, err error) []spec.Problem {
	list, ok := errors.AsType[ast.Errors](err)
	if !ok {
		return []spec.Problem{{Pos: spec.Position{File: path}, Text: err.Error()}}
	}
	return compileProblems(list)
}

func compileProblems(list ast.Errors) []spec.Problem {
	var out []spec.Problem
	for _, e := range list {
		p := spec.Problem{Text: e.Message}
		if e.Location != nil {
			p.Pos = position(e.Location, e.Location.File)
		}
		switch d := e.Details.(type) {
		case *ast.RefErrInvalidDetail:
			p.Text, p.Hint = undefinedRef(d)
		case nil:
		default:
			if lines := d.Lines(); e.Code == ast.TypeErr && len(lines) > 0 {
				p.Text += ": " + strings.Join(squeeze(lines), ", ")
			}
		}
		if name, ok := strings.CutPrefix(e.Message, "undefined function "); ok {
			p.Hint = whyRemoved(name)
		}
		if n := len(out); n > 0 && out[n-1].Pos == p.Pos && strings.HasPrefix(p.Text, out[n-1].Text) {
			out = out[:n-1] // said again with more
		}
		out = append(out, p)
	}
	return out
}

// undefinedRef says which step of a reference is wrong and what could stand there.
func undefinedRef(d *ast.RefErrInvalidDetail) (text, hint string) {
	text = "undefined: " + d.Ref.String()
	if d.Pos >= len(d.Ref) {
		return text, ""
	}
	got := fmt.Sprint(d.Ref[d.Pos])
	if s, ok := d.Ref[d.Pos].Value.(ast.String); ok {
		got = string(s)
	}
	var known []string
	for _, v := range d.OneOf {
		if s, ok := v.(ast.String); ok {
			known = append(known, string(s))
		}
	}
	switch {
	case len(known) > 0:
		text += fmt.Sprintf(": %s has no %s, want one of %s", d.Ref[:d.Pos], got, strings.Join(known, ", "))
		if near := spec.Nearest(got, known); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
	case d.Want != nil:
		text += fmt.Sprintf(": got %s, want %s", got, d.Want)
	}
	return text, hint
}

// squeeze drops empty lines and the space around the others.
func squeeze(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && strings.Trim(l, "^") != "" {
			out = append(out, l)
		}
	}
	return out
}
