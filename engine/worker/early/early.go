// Package early makes the program that imports it a worker, if it is executed as one: before most of the program is set
// up. Without an executable of workers beside it, a program is its own.
package early

import (
	"os"
	"path/filepath"

	"callgate/engine/worker"
)

func init() {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == worker.Name {
		os.Exit(worker.Main(os.Args))
	}
}
