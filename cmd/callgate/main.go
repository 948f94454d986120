// Command callgate runs agents under policies that decide each of their calls.
//
// Each verb has a file of its own. Results go to standard output, everything else to standard error, each line with
// "callgate: " before it. The exit codes are those that callgate --help lists. Nothing is coloured but on a
// terminal, and nothing is asked but on one.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	os.Exit(run())
}

// garbage is how many percent of what is alive Go's heap may hold in garbage. Little is alive in this process: at Go's own 100 it
// would be collecting all the time. A program's budget bounds its garbage besides.
const garbage = 400

// run runs the command line and returns the exit code. The first interrupt ends a run in good order, its journal
// included, unless the verb has something else to end; a second one ends the process.
func run() int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &command{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			if f := c.interrupt.Load(); f != nil && s == os.Interrupt {
				(*f)()
				continue
			}
			signal.Stop(signals)
			cancel()
		}
	}()
	return c.run(ctx, os.Args[1:])
}
