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
	"syscall"
)

func main() {
	os.Exit(run())
}

// run runs the command line and returns the exit code. The first interrupt ends a run in good order, its journal
// included; a second one ends the process.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	c := &command{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}
	return c.run(ctx, os.Args[1:])
}
