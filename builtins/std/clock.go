package std

import (
	"context"
	"time"

	"callgate/builtins"
	"callgate/engine/label"
)

func clockSet() set {
	return set{
		Factory{Name: "clock", Doc: "The time.", build: buildClock},
		[]string{"clock.now"},
	}
}

func buildClock(context.Context, *builder) (*Toolset, error) {
	return &Toolset{[]*builtins.Tool{{
		Name:       "clock.now",
		Doc:        `Return the time of this turn in UTC, such as "2026-12-01T10:00:00Z". It does not advance within a turn.`,
		Returns:    schema(`{"type": "string", "format": "date-time"}`),
		Effects:    builtins.Read,
		Label:      builtins.Source{Class: label.Bottom()},
		Idempotent: true,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			return in.Now.UTC().Format(time.RFC3339), nil
		},
	}}, func() error { return nil }, nil}, nil
}
