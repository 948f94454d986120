//go:build amd64 || arm64

package confine

// group is a cgroup of one child. nil is none.
type group struct{}

func newGroup(Budget) *group { return nil }

func (g *group) add(pid int) bool { return false }

func (g *group) kill() {}

func (g *group) remove() {}
