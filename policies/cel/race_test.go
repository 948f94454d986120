//go:build race

package cel

// Under the race detector everything takes ten times as long.
func init() { evaluationTime *= 10 }
