package main

import (
	"strings"

	"github.com/spf13/cobra"

	"callgate/spec"
)

func (c *command) schemaVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Write the JSON Schema of a kind of document, or list the kinds",
		Long: `Write the JSON Schema of a kind of document, for editors and other tools. ` + spec.AnyKind + ` is one for files in which several
kinds stand. Without a kind, list them.`,
		Example: "  callgate schema\n  callgate schema Agent > agent.schema.json",
		Args:    arguments(0, 1, "the name of a kind"),
		RunE: func(_ *cobra.Command, args []string) error {
			out := []byte(strings.Join(append(spec.Kinds(), spec.AnyKind), "\n") + "\n")
			if len(args) == 1 {
				var err error
				if out, err = spec.Schema(args[0]); err != nil {
					return usage("", "%v", err)
				}
			}
			_, err := c.stdout.Write(out)
			return err
		},
	}
}
