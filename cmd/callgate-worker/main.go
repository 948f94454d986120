// Command callgate-worker runs programs in a process that can do nothing else. It is started by callgate, beside which it lies.
package main

import (
	"os"

	"callgate/engine/worker"
)

func main() { os.Exit(worker.Main(os.Args)) }
