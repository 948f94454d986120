package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"callgate/engine/confine"
	"callgate/engine/eval"
)

// Name is what a worker's command line begins with: an executable that finds it there becomes a worker; see [Main].
const Name = confine.Name

// Main is a worker process from its start to its end, whose code it returns: it confines itself, and serves the
// supervisor that has started it.
func Main(args []string) int {
	if confine.Launching(args) {
		fmt.Fprintln(os.Stderr, Name+":", confine.Launch(args))
		return 2
	}
	if confine.Becoming(args) {
		fmt.Fprintln(os.Stderr, Name+":", confine.Become(args))
		return 2
	}
	socket, achieved, err := confine.Enter(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, Name+":", err)
		return 2
	}
	var names []string
	for _, m := range achieved {
		names = append(names, string(m))
	}
	if err := Serve(socket, names); err != nil {
		return 1
	}
	return 0
}

// Process is a worker process that has said hello and has no session yet. It is for one session.
type Process struct {
	path     string
	runtime  string
	waited   bool // in a pool
	child    *confine.Child
	c        *conn
	achieved []confine.Mechanism
}

// ProcessOptions say how to start a worker. The zero Options start the one that [confine.Executable] finds, within a budget that
// is enough for default limits.
type ProcessOptions struct {
	Path    string              // of the executable; "": that of confine.Executable
	OCI     bool                // in a container
	Runtime string              // of the container, its path; "": the first of confine.Runtimes
	Budget  confine.Budget      // of the process, from outside
	Without []confine.Mechanism // left out: those that the machine lacks, in tests
}

// StartProcess starts a worker and reads its hello. Nothing is sent to one that is not confined enough: the error is then that
// of [confine.Enough].
func StartProcess(ctx context.Context, o ProcessOptions) (*Process, error) {
	if o.Budget == (confine.Budget{}) {
		o.Budget = BudgetFor(eval.Limits{})
	}
	if o.Path == "" {
		var err error
		if o.Path, err = confine.Executable(); err != nil {
			return nil, err
		}
	}
	switch {
	case !o.OCI:
		o.Runtime = ""
	case o.Runtime == "":
		found, err := confine.Runtimes()
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		o.Runtime = found[0]
	}
	child, err := confine.Start(confine.Options{Path: o.Path, Name: Name, Budget: o.Budget, Runtime: o.Runtime, Without: o.Without})
	if err != nil {
		return nil, err
	}
	p := &Process{path: o.Path, runtime: o.Runtime, child: child, c: newConn(child.Socket)}
	kill := time.AfterFunc(patience, child.Kill)
	defer kill.Stop()
	defer context.AfterFunc(ctx, child.Kill)()
	names, err := greet(p.c)
	if err == nil {
		p.achieved = slices.Clone(child.Achieved)
		for _, n := range names {
			if m := confine.Mechanism(n); slices.Contains(confine.All, m) && !slices.Contains(p.achieved, m) {
				p.achieved = append(p.achieved, m)
			}
		}
		err = confine.Enough(p.achieved)
	}
	if err != nil {
		child.Kill()
		if how := child.Ended(); errors.As(err, new(*confine.MissingError)) || how == "" {
			return nil, fmt.Errorf("worker: %w", err)
		} else if why := child.Unlaunched(); why != "" {
			return nil, fmt.Errorf("worker: %s", why)
		} else {
			hint := ""
			if o.OCI {
				hint = fmt.Sprintf("; it was to run under %s: a container needs an executable built with CGO_ENABLED=0, as callgate-worker beside callgate is, and a runtime that works", o.Runtime)
			}
			return nil, fmt.Errorf("worker: %s ended before it said hello: %s%s", o.Path, how, hint)
		}
	}
	return p, nil
}

// Achieved says what confines the process, in the order in which it took hold.
func (p *Process) Achieved() []confine.Mechanism {
	var out []confine.Mechanism
	for _, m := range confine.All {
		if slices.Contains(p.achieved, m) {
			out = append(out, m)
		}
	}
	return out
}

// Open makes the session of the process, which then lasts until the session is closed.
func (p *Process) Open(ctx context.Context, cfg Config) (*Session, error) {
	return open(ctx, childLink{p.child}, p.c, cfg)
}

// Kill ends a process that has no session.
func (p *Process) Kill() { p.child.Kill() }

// Path returns the executable that the process runs.
func (p *Process) Path() string { return p.path }

// Waited reports whether the process waited in a pool: it may have been killed meanwhile, and a new one may be had in its place.
func (p *Process) Waited() bool { return p.waited }

// Runtime returns the OCI runtime that the process runs under; "" if there is none.
func (p *Process) Runtime() string { return p.runtime }

// Pid returns the process's id, as its supervisor sees it.
func (p *Process) Pid() int { return p.child.Pid() }

// childLink is a link to a process.
type childLink struct{ *confine.Child }

func (l childLink) Read(b []byte) (int, error)  { return l.Socket.Read(b) }
func (l childLink) Write(b []byte) (int, error) { return l.Socket.Write(b) }
