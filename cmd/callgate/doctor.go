package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/engine/confine"
	"callgate/engine/gate"
	"callgate/engine/worker"
)

// tierReport is what this machine can do of a tier, or of the commands of tools.
type tierReport struct {
	Tier    string   `json:"tier"`
	Can     bool     `json:"can"`
	Missing string   `json:"missing,omitempty"` // why not, and how to get it
	By      string   `json:"by,omitempty"`      // what runs the programs
	Start   float64  `json:"start_ms,omitempty"`
	Has     []string `json:"has,omitempty"`   // what confines it
	Lacks   []lack   `json:"lacks,omitempty"` // what could, and does not here
}

// lack is something that this machine has not, and how to get it.
type lack struct {
	Name string `json:"name"`
	Get  string `json:"get,omitempty"`
}

func (c *command) doctorVerb() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say how strongly this machine can isolate programs, tier by tier, by trying",
		Long: `Say how strongly this machine can isolate programs, tier by tier: a worker of each is started, and says what confines
it. The last line is that of commands, which tools of the kind command run: one is run that does nothing. What is missing
is said with how to get it.`,
		Example: "  callgate doctor\n  callgate doctor --json | jq .tier",
		Args:    arguments(0, 0, "nothing"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			where, done := isolation("auto", "believed")
			defer done()
			reports := []tierReport{{Tier: gate.TierNone.String(), Can: true, By: "this process: programs run within their budgets, and nothing stands behind the evaluator"}}
			for _, t := range []gate.Tier{gate.TierProcess, gate.TierContainer} {
				reports = append(reports, try(cmd.Context(), t, where.Workers[t]))
			}
			reports = append(reports, tryCommand(cmd.Context()))
			for _, r := range reports {
				if err := c.report(r, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON line for each tier, and one for commands")
	return cmd
}

// try starts a worker of a tier.
func try(ctx context.Context, t gate.Tier, pool *worker.Pool) tierReport {
	r := tierReport{Tier: t.String()}
	if pool == nil {
		r.Missing = "there are no workers for it here"
		return r
	}
	begin := time.Now()
	p, err := worker.StartProcess(ctx, pool.Options)
	if err != nil {
		r.Missing = err.Error()
		return r
	}
	defer p.Kill()
	r.Can, r.Start, r.By = true, float64(time.Since(begin).Microseconds())/1000, p.Path()
	if p.Runtime() != "" {
		r.By += " under " + p.Runtime()
	}
	r.confined(p.Achieved(), pool.Options.OCI)
	return r
}

// tryCommand runs a command that does nothing.
func tryCommand(ctx context.Context) tierReport {
	r := tierReport{Tier: "command"}
	path, err := confine.Executable()
	if err != nil {
		r.Missing = err.Error()
		return r
	}
	c := confine.Command{Path: path, Profile: confine.Profile{Read: []string{path}}}
	for _, shared := range []string{"/usr", "/lib", "/lib64"} { // what it may be linked with
		if real, err := filepath.EvalSymlinks(shared); err == nil && real == shared {
			c.Profile.Read = append(c.Profile.Read, shared)
		}
	}
	begin := time.Now()
	done, err := c.Run(ctx)
	if err != nil {
		r.Missing = err.Error()
		return r
	}
	r.Can, r.Start, r.By = true, float64(time.Since(begin).Microseconds())/1000, path
	r.confined(done.Achieved, false)
	return r
}

// confined says what confines a program, and what could and does not.
func (r *tierReport) confined(by []confine.Mechanism, container bool) {
	for _, m := range confine.All {
		switch {
		case slices.Contains(by, m):
			r.Has = append(r.Has, string(m))
		case m == confine.Container, m == confine.Root && container: // the one is what the other has instead
		default:
			r.Lacks = append(r.Lacks, lack{string(m), confine.Remedy(m)})
		}
	}
}

// report writes a report.
func (c *command) report(r tierReport, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(c.stdout).Encode(r)
	}
	line := fmt.Sprintf("%-10s", r.Tier)
	switch {
	case !r.Can:
		line += "no: " + r.Missing
	case r.Start > 0:
		line += fmt.Sprintf("yes, in %.1f ms, by %s", r.Start, r.By)
	default:
		line += "yes, by " + r.By
	}
	if len(r.Has) > 0 {
		line += "\n          has " + strings.Join(r.Has, ", ")
	}
	for _, l := range r.Lacks {
		line += "\n          lacks " + l.Name
		if l.Get != "" {
			line += ": " + l.Get
		}
	}
	_, err := fmt.Fprintln(c.stdout, line)
	return err
}
