package library

import (
	"embed"
	"io/fs"
)

//go:embed *.rego
var files embed.FS

// Prefix begins the paths of shipped modules.
const Prefix = "library:"

// FS returns the shipped files.
func FS() fs.FS { return files }
