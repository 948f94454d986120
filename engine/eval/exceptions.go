package eval

import (
	"strings"

	"callgate/engine/label"
)

// errorClasses are the classes of errors, each with the one that it is a kind of. They are values, functions that make an error;
// a program has no others.
var errorClasses = map[string]string{
	"BaseException": "",

	"Exception":         "BaseException",
	"KeyboardInterrupt": "BaseException", // never raised by the evaluator: what stops a program cannot be caught
	"SystemExit":        "BaseException",

	"ArithmeticError": "Exception",
	"AssertionError":  "Exception",
	"AttributeError":  "Exception",
	"LookupError":     "Exception",
	"MemoryError":     "Exception",
	"NameError":       "Exception",
	"OSError":         "Exception",
	"RuntimeError":    "Exception",
	"StopIteration":   "Exception",
	"TypeError":       "Exception",
	"ValueError":      "Exception",

	"OverflowError":       "ArithmeticError",
	"ZeroDivisionError":   "ArithmeticError",
	"IndexError":          "LookupError",
	"KeyError":            "LookupError",
	"UnboundLocalError":   "NameError",
	"NotImplementedError": "RuntimeError",
	"RecursionError":      "RuntimeError",
	"JSONDecodeError":     "ValueError",
	"UnicodeError":        "ValueError",
	"UnicodeDecodeError":  "UnicodeError",
	"UnicodeEncodeError":  "UnicodeError",

	"ToolError":         "OSError", // a call of a tool that failed
	"ConnectionError":   "ToolError",
	"FileExistsError":   "ToolError",
	"FileNotFoundError": "ToolError",
	"PermissionError":   "ToolError",
	"TimeoutError":      "ToolError",
	"Denied":            "PermissionError", // a call that a policy, or a person, refused
}

// classOfCode is the class of the evaluator's errors by their codes, where the error does not say: that which Python has for the same mistake.
var classOfCode = map[string]string{
	"argument": "TypeError", "arguments": "TypeError", "division-by-zero": "ZeroDivisionError", "duplicate-key": "ValueError", "empty": "ValueError",
	"encoding": "ValueError", "fail": "Exception", "format": "ValueError", "iterating": "RuntimeError", "json": "JSONDecodeError", "keyword": "TypeError",
	"no-choice": "ValueError", "no-field": "AttributeError", "no-key": "KeyError", "not-callable": "TypeError", "not-data": "TypeError", "not-found": "ValueError",
	"not-iterable": "TypeError", "not-mapping": "TypeError", "parse": "ValueError", "range": "ValueError", "too-deep": "RecursionError", "too-large": "OverflowError",
	"type": "TypeError", "unbound": "NameError", "unhashable": "TypeError", "unpack": "ValueError",
}

// classOfAnswer is the class of a tool's failure by its code.
var classOfAnswer = map[string]string{
	"not-found": "FileNotFoundError", "exists": "FileExistsError", "timeout": "TimeoutError", "connection": "ConnectionError", "unreachable": "ConnectionError",
	"no-permission": "PermissionError",
}

// of says which class an error is of, if its code does not.
func (e *Error) of(class string) *Error {
	e.class = class
	return e
}

// classOfNoInt is the class of the error that a float is no int.
func classOfNoInt(f float64) string {
	if f != f {
		return "ValueError"
	}
	return "OverflowError"
}

// className returns the class of an error.
func (e *Error) className() string {
	if e.class != "" {
		return e.class
	}
	if c, ok := classOfCode[e.Code]; ok {
		return c
	}
	if _, ok := errorClasses[e.Code]; ok {
		return e.Code
	}
	return "Exception"
}

// isKind reports whether a class is another one, or a kind of it.
func isKind(class, of string) bool {
	for ; class != ""; class = errorClasses[class] {
		if class == of {
			return true
		}
	}
	return false
}

// classValues are the classes as values, by name.
var classValues = map[string]val{}

// addExceptions adds the classes to the universe, and to the module json its own.
func addExceptions() {
	for name := range errorClasses {
		d := def(name, "...", runException)
		d.index = 0 // a value is made: there is nothing to decide
		classValues[name] = builtinVal(&builtin{name: name, recv: unboundVal, def: d}, label.BottomID)
		if name != "JSONDecodeError" {
			universe[name] = classValues[name]
		}
	}
	for alias, name := range map[string]string{"IOError": "OSError", "EnvironmentError": "OSError"} {
		universe[alias] = universe[name]
	}
	universe["json"].module().attrs["JSONDecodeError"] = classValues["JSONDecodeError"]
}

// classNamed returns the class that a value is, "" if it is none.
func classNamed(v val) string {
	if v.k != kBuiltin {
		return ""
	}
	if b := v.builtin(); classValues[b.name].p == v.p {
		return b.name
	}
	return ""
}

// An error as a value is a struct whose first field has a name that no program can spell, and holds the class.
var errorFields = []string{"<class>", "args", "code"}

// isError reports whether a value is an error.
func (v val) isError() bool {
	return v.k == kStruct && len(v.record().names) == len(errorFields) && v.record().names[0] == errorFields[0] && v.record().items[0].k == kString
}

// errorClass returns the class of an error.
func (v val) errorClass() string { return v.record().items[0].str() }

// newError makes an error of a class. The class and the code carry l.
func (t *thread) newError(class, code string, args []val, l label.ID) val {
	n := int64(len(args))
	t.alloc(recordBytes(int64(len(errorFields))) + tupleSize + blockSize(n*valSize))
	t.charge(n / 4)
	return recordVal(&record{
		names: errorFields, items: []val{stringVal(class, l), tupleVal(append([]val(nil), args...), l), stringVal(code, l)},
	}, l)
}

func runException(t *thread, c *call) val {
	if len(c.kw) > 0 {
		panic(t.badArg(c, "takes no keyword arguments"))
	}
	return t.newError(c.def.name, c.def.name, c.args, t.pc)
}

// message writes what str gives of an error: its argument, or the tuple of them.
func (w *textWriter) message(v val) {
	args := v.record().items[1]
	if args.k != kTuple {
		w.write(args)
		return
	}
	switch items := args.tuple().items; len(items) {
	case 0:
	case 1:
		if !items[0].isError() {
			w.str(items[0])
			return
		}
		if !w.enter(v) { // cannot be: an error is made after its arguments
			return
		}
		w.message(items[0])
		w.leave()
	default:
		w.write(args)
	}
}

// exception writes an error as in a program.
func (w *textWriter) exception(v val) {
	if !w.enter(v) {
		w.put("...")
		return
	}
	w.put(v.errorClass() + "(")
	if args := v.record().items[1]; args.k == kTuple {
		w.items(args.tuple().items)
	}
	w.put(")")
	w.leave()
}

// asValue returns what a handler gets of an error: what was raised, or the evaluator's own as an error of its text.
func (t *thread) asValue(e *Error) val {
	l := t.join(e.fact(), t.pc)
	if e.raised.k != kUnbound {
		return e.raised.with(t.join(e.raised.lab, l))
	}
	text := e.Text
	if e.Code == "fail" {
		text = strings.TrimPrefix(text, "fail: ")
	}
	t.alloc(stringSize(int64(len(text))))
	v := t.newError(e.className(), e.Code, []val{stringVal(text, t.join(e.lab, t.pc))}, l)
	e.raised = v
	return v
}

// fact is the label of that an error happened, and of which class it is. Its text may carry more.
func (e *Error) fact() label.ID {
	if e.apart {
		return e.happened
	}
	return e.lab
}

// raise ends in the error that a value is, or that a class makes.
func (t *thread) raise(v val, p pos) {
	l := v.lab
	if classNamed(v) != "" {
		v = t.newError(classNamed(v), classNamed(v), nil, l)
	}
	if !v.isError() {
		e := t.fail(p, l, "type", "exceptions must derive from BaseException: got %s", v.typeName())
		if v.k == kString {
			e.hint(`write raise ValueError("what is wrong")`)
		}
		panic(e)
	}
	for i := len(t.caught) - 1; i >= 0; i-- {
		if c := t.caught[i]; c.raised.p == v.p {
			t.again(c, l)
		}
	}
	class := v.errorClass()
	if _, ok := errorClasses[class]; !ok {
		class = "Exception"
	}
	text := t.deepLabel(v)
	w := textWriter{t: t}
	w.put(class)
	if args := v.record().items[1]; args.k == kTuple && len(args.tuple().items) > 0 {
		w.put(": ")
		w.message(v)
	}
	e := t.fail(p, t.join(l, text), class, "%s", w.end())
	e.raised, e.apart, e.happened = v, true, l
	panic(e)
}

// again ends in an error that was caught, under l besides.
func (t *thread) again(e *Error, l label.ID) {
	e.happened, e.apart = t.join(e.fact(), l), true
	e.lab = t.join(e.lab, l)
	panic(e)
}
