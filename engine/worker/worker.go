// Package worker runs the programs of a session in another process, which has the evaluator and nothing else: policies, tools,
// secrets and the journal stay with the process that starts it, its supervisor.
//
// # The two sides
//
// A worker confines itself before it reads anything (package confine), says what it achieved, and waits. [StartProcess]
// starts one and reads that hello; a [Pool] has some that wait. [Process.Open] makes the one session that the worker will ever have.
// A [Session] has the methods of a session in this process, which is a [Local]: the host cannot see a difference, but for
// the time that it takes. When the session is closed, the worker is killed with all that is in it.
//
// # What a worker can do
//
// It can ask the host for calls, and say how a program ended. Everything else is a
// [*ProtocolError], after which it is killed: a frame out of turn, one that is too large, a call whose id is not the next, a tool that
// the session has not, an ending that its calls do not lead to, a place that is in no program. What the supervisor can count
// itself it counts itself: turns, calls, output, time. The answer to the user is the one that the host let through. While it
// waits for the host, the worker's time stands still.
//
// What a worker says of labels is believed, unless [Config.Floor] is set: then everything that it sends carries the labels of
// everything that it was sent.
//
// # Frames
//
// A frame is the length of its body in 4 bytes, its kind in one, and the body: the labels that occur in it, then its
// fields; values in the canonical encoding of package value. See spec/isolation.md.
package worker
