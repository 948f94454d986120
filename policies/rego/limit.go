package rego

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// What the evaluation of one call's rules may take: steps, so that the outcome does not depend on how busy the
// machine is, and time for what a single step does. Time is tried twice: some 60 ms in all. Rules whose partial evaluation takes more
// than its share are evaluated whole; of ten thousand rules it takes two thousand steps.
const (
	evaluationSteps     = 200_000
	evaluationTime      = 30 * time.Millisecond
	specialisationSteps = 8_000
	specialisationTime  = 250 * time.Millisecond
)

// limit ends evaluation past a number of steps or after some time, or when its context is
// done. It is a topdown.Cancel that counts how often it is asked, once a step.
type limit struct {
	ctx    context.Context
	within time.Duration
	steps  int
	most   int
	late   atomic.Bool
	timer  *time.Timer
	undo   func() bool
}

func newLimit(ctx context.Context, steps int, within time.Duration) *limit {
	l := &limit{ctx: ctx, within: within, most: steps}
	l.timer = time.AfterFunc(within, l.Cancel)
	if ctx.Done() != nil {
		l.undo = context.AfterFunc(ctx, l.Cancel)
	}
	return l
}

func (l *limit) stop() {
	l.timer.Stop()
	if l.undo != nil {
		l.undo()
	}
}

// Cancel ends the evaluation at its next step.
func (l *limit) Cancel() { l.late.Store(true) }

// Cancelled counts a step and reports whether it is one too many, or too late.
func (l *limit) Cancelled() bool {
	l.steps++
	return l.steps > l.most || l.late.Load()
}

var errTime = errors.New("too late")

// over says why evaluation was ended, nil if it was not. An error that is errTime says that
// time was up though few steps had been made.
func (l *limit) over() error {
	switch {
	case l.steps > l.most:
		return fmt.Errorf("stopped after %d steps", l.most)
	case l.ctx.Err() != nil:
		return l.ctx.Err()
	case l.late.Load():
		return fmt.Errorf("stopped after %v: %w", l.within, errTime)
	}
	return nil
}
