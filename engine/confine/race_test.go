//go:build race && linux && (amd64 || arm64)

package confine

func init() { underRace = true }
