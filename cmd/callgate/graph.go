package main

import (
	"slices"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/flowgraph"
)

// graphFormats are those of --graph; the first is taken if none is named.
var graphFormats = []string{"svg", "dot", "mermaid"}

// graphFlag adds --graph, whose format may stand after it as a word of its own.
func graphFlag(cmd *cobra.Command) *choice {
	f := &choice{words: graphFormats}
	cmd.Flags().Var(f, "graph", "draw the flow of data between calls")
	cmd.Flags().Lookup("graph").NoOptDefVal = graphFormats[0]
	return f
}

// graphFormat takes the format of --graph out of a verb's arguments, if it stands there.
func graphFormat(f *choice, args []string) []string {
	if f.value == "" || len(args) < 2 {
		return args
	}
	for i, a := range args {
		if slices.Contains(graphFormats, a) {
			f.value = a
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// graph draws a run.
func (c *command) graph(p *pastRun, format string) error {
	g := flowgraph.New(p.readable, p.who.MayRead)
	var out []byte
	switch format {
	case "dot":
		out = g.DOT()
	case "mermaid":
		out = g.Mermaid()
	default:
		out = g.SVG()
	}
	_, err := c.stdout.Write(out)
	return err
}
