//go:build race

package syntax

// The race detector slows the parser by a factor of ten; there is nothing for it to
// find in long texts that it does not find in short ones.
func init() { scale = 4 }
