//go:build race

package eval

// The race detector takes time and memory of its own, so that what budgets promise of a process cannot be measured under it.
func init() { underRace = true }
