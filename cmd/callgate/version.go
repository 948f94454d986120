package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"callgate/engine/eval"
)

// version is what this build is.
type version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Language string `json:"language"`
}

func thisVersion() version {
	v := version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Language: eval.Language}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	return v
}

func (c *command) versionVerb() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Say which version this is",
		Long:    "Say which version this is: of Callgate, of Go, of the platform, and of the language that programs are written in.",
		Example: "  callgate version\n  callgate version --json",
		Args:    arguments(0, 0, "none"),
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			if asJSON {
				return json.NewEncoder(c.stdout).Encode(v)
			}
			_, err := fmt.Fprintf(c.stdout, "callgate %s %s %s %s\n", v.Version, v.Go, v.Platform, v.Language)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write it as JSON")
	return cmd
}
