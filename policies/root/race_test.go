//go:build race

package root

// The race detector takes time of its own, so that what a decision takes cannot be measured under it.
func init() { underRace = true }
