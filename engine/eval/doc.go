// Package eval runs programs: Starlark with a label on every value, within
// budgets, and with one way out.
//
// [Compile] turns a text into a [Program]: go.starlark.net's resolver over the tree that
// engine/syntax yields, then a Go closure for each expression and statement. A [Session] is one
// namespace of cells; [Session.Run] runs a program as its next turn, and every crossing of
// the boundary, pure builtins included, is a [Call] of the [Host].
//
// # Labels
//
// A value carries the label of the reference to it; a list, dict or set besides a structure
// label, of its length, order and keys. Every expression yields a value whose label includes
// the pc: the author's label, the session's floor, and what the branches entered have carried. The rules are
// those of spec/label.md, by number:
//
//	thread.go    pc, floor and the write rule [flow.4]
//	region.go    branches: what their exits may skip, what is announced [pc.2, pc.3]
//	stmt.go      loops and assignments
//	expr.go      operands that decide, comprehensions
//	call.go      functions and builtins [pc.4]
//	crossing.go  calls of the host, endorsements, the record of calls [call.*, pc.6]
//	ops.go, compare.go, slice.go  reading, comparing, indexing [flow.2]
//	try.go, watch.go  errors that are caught, and those that might have been [try.*]
//
// # Budgets
//
// Steps, live bytes, wall time, depth, output and calls are limited, and charged before the work is
// done (thread.go, trace.go). A limit ends the program and cannot be caught. Errors travel by panic
// within the package and never leave it: [Session.Run] returns an [Outcome], whatever the program does.
//
// # What is where
//
//	value.go, dict.go     values; the only file that uses unsafe is value.go
//	compile.go            programs, functions, resolving
//	functions.go, numbers.go, sort.go, strings.go, containers.go, format.go, json.go   the universe and the methods
//	convert.go            values in and out
//	permit.go             which builtins policy has permitted
//	session.go, errors.go sessions and how programs end
//	exceptions.go         the classes of errors, and errors as values
//	snapshot.go, restore.go   a session as bytes, and made again from them
package eval
