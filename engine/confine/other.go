//go:build !linux || !(amd64 || arm64)

package confine

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Child is a process that was started. There are none here.
type Child struct {
	Socket   *os.File
	Achieved []Mechanism
}

// Start returns an error: this system cannot confine a process.
func Start(Options) (*Child, error) {
	return nil, fmt.Errorf("confine: %s/%s cannot confine a process: Linux on amd64 or arm64 can", runtime.GOOS, runtime.GOARCH)
}

// Enter returns an error: this system cannot confine a process.
func Enter([]string) (*os.File, []Mechanism, error) {
	_, err := Start(Options{})
	return nil, nil, err
}

// Runtimes returns an error: this system cannot run containers.
func Runtimes() ([]string, error) {
	_, err := Start(Options{})
	return nil, err
}

// Launch returns an error: this system cannot run containers.
func Launch([]string) error {
	_, err := Start(Options{})
	return err
}

// Run returns an error: this system cannot confine a process.
func (*Command) Run(context.Context) (*Finished, error) {
	_, err := Start(Options{})
	return nil, err
}

// Start returns an error: this system cannot confine a process.
func (*Command) Start(_ context.Context, in, out, errs *os.File) (*Running, error) {
	_, err := Start(Options{})
	return nil, err
}

// Running is a command that has begun. There are none here.
type Running struct{}

// Kill does nothing.
func (*Running) Kill() {}

// Wait returns nothing.
func (*Running) Wait() *Finished { return &Finished{} }

// Become returns an error: this system cannot confine a process.
func Become([]string) error {
	_, err := Start(Options{})
	return err
}

const launching = "container"

var insideContainer []Mechanism

// Kill does nothing.
func (*Child) Kill() {}

// Ended returns "".
func (*Child) Ended() string { return "" }

// Unlaunched returns "".
func (*Child) Unlaunched() string { return "" }

// Pid returns 0.
func (*Child) Pid() int { return 0 }
