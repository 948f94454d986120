package eval

import (
	"fmt"
	"strings"

	"callgate/engine/label"
	"callgate/engine/syntax"
	"callgate/engine/value"
)

// Status says how a program ended.
type Status string

// The ways to end. The zero Status is not one of them.
const (
	OK        Status = "ok"
	Answered  Status = "answered"  // by done(value)
	Failed    Status = "error"     // an error of the program, or of a tool that it called
	Denied    Status = "denied"    // a refusal that the program did not catch
	Limited   Status = "limit"     // a budget is used up
	Cancelled Status = "cancelled" // the context ended
	Waiting   Status = "waiting"   // for a person's approval
	Crashed   Status = "internal"  // a fault in the evaluator or the host
)

// Error is how a program ended, if not well. It is also what travels through the
// evaluator (by panic) until something catches it.
type Error struct {
	Status Status
	Code   string      // holds no data: "division-by-zero", "limit.steps", "denied (flow.account)"
	Text   string      // may hold data under Label
	Hint   string      // what to do instead; holds no data
	Advice string      // what to do instead, chosen by types and values: under Label, as Text is
	Label  label.Label // of the fact that it happened, of Text and of Advice
	Site   Site        // where
	Stack  []Site      // outermost call first, without Site

	// For a limit: the budget's name, how much was used and how much there was, in
	// the budget's unit (steps, bytes, milliseconds, calls).
	Budget      string
	Used, Limit int64

	// Syntax holds every problem of a text that does not compile (code "syntax").
	Syntax syntax.Errors

	// Detail is for the operator alone: the stack of a crash. It may hold data.
	Detail string

	lab   label.ID
	final bool   // cannot be caught
	class string // "" if the code says it

	raised   val      // as a value, once a program has it
	apart    bool     // what was raised has labels of its own
	happened label.ID // then that of the fact
	passed   bool     // it has just left a try that has no handler for it
	within   label.ID // then the label of that
	placed   bool     // where it was is filled in
	pos      pos
	done     *value.Value // of done(value)
}

// Error returns "file:line:col: text" and, on lines of their own, the hint and the advice, if any.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Where())
	if e.Hint != "" {
		b.WriteString("\nhint: " + e.Hint)
	}
	if e.Advice != "" {
		b.WriteString("\nhint: " + e.Advice)
	}
	return b.String()
}

// Where returns the error's text and position, without hints.
func (e *Error) Where() string {
	if e.Site.Line > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", e.Site.File, e.Site.Line, e.Site.Column, e.Text)
	}
	return e.Text
}

// Public returns what of the error holds no data: its code and position.
func (e *Error) Public() string {
	if e.Site.Line > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", e.Site.File, e.Site.Line, e.Site.Column, e.Code)
	}
	return e.Code
}

// maxErrorText bounds the text of an error.
const maxErrorText = 4096

// errorf makes an ordinary error whose check has read values labelled l. The pc is joined.
// It is positioned at the builtin that is running.
func (t *thread) errorf(l label.ID, code, format string, args ...any) *Error {
	for i := range args {
		if s, ok := args[i].(string); ok {
			args[i] = cut(s, maxErrorText)
		}
	}
	return &Error{Status: Failed, Code: code, Text: cut(fmt.Sprintf(format, args...), maxErrorText), lab: t.join(t.pc, l), pos: t.at}
}

// cut shortens a text to at most n bytes and a mark.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// fail is errorf at a position.
func (t *thread) fail(p pos, l label.ID, code, format string, args ...any) *Error {
	e := t.errorf(l, code, format, args...)
	e.pos = p
	return e
}

// prefix is the name of the builtin that is running, for an error of an operation within it; "" in an expression.
func (t *thread) prefix() string {
	if n := t.natives; n > 0 && t.pool[n-1].def != nil && t.pool[n-1].pos == t.at {
		return t.pool[n-1].def.name + ": "
	}
	return ""
}

// limit makes the error of a budget that is used up. It cannot be caught.
func (t *thread) limit(budget string, used, limit int64) *Error {
	unit := map[string]string{"steps": " steps", "memory": " bytes", "wall": " ms", "depth": " calls deep", "output": " bytes", "calls": " calls", "strands": " strands"}[budget]
	return &Error{
		Status: Limited, Code: "limit." + budget, final: true,
		Text:   fmt.Sprintf("%s budget used up: %d%s, the limit is %d", budget, used, unit, limit),
		Budget: budget, Used: used, Limit: limit, lab: label.TopID,
	}
}

// stopped makes the error of a context that has ended.
func (t *thread) stopped() *Error {
	return &Error{Status: Cancelled, Code: "cancelled", Text: "cancelled", final: true, lab: label.TopID}
}

// maxWalk bounds how deep nested data may be walked: printed, compared, hashed, converted.
const maxWalk = 500

func (t *thread) checkDepth(depth int) {
	if depth > maxWalk {
		panic(t.errorf(t.everything(), "too-deep", "maximum recursion depth exceeded: value nested more than %d deep", maxWalk))
	}
}

// pos is a place in a program: line and column, from 1.
type pos struct{ line, col int32 }
