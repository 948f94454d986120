package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/spec"
)

// command is one command line at work.
type command struct {
	stdin, stdout, stderr *os.File
	getenv                func(string) string
	identity              string // file that opens what is encrypted in journals; "": that of CALLGATE_IDENTITY

	interrupt atomic.Pointer[func()] // what an interrupt ends in place of the command; nil: the command
}

// onInterrupt has an interrupt call f in place of ending the command, until the function that it returns is called.
func (c *command) onInterrupt(f func()) (undo func()) {
	before := c.interrupt.Swap(&f)
	return func() { c.interrupt.Store(before) }
}

// The exit codes that are not those of a run; see [engine.ExitCode].
const (
	exitFailed = 1
	exitUsage  = 2
	exitDenied = 3
)

// exitError ends the command with a code. What is to be said has been said if err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// usage is the error of a command line that makes no sense. The hint may be empty.
func usage(hint, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if hint != "" {
		err = fmt.Errorf("%w\nhint: %s", err, hint)
	}
	return &exitError{exitUsage, err}
}

// quit ends the command with a code, and in silence.
func quit(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

const about = `callgate runs agents whose programs reach tools through one gate: policies in Rego and CEL decide
each call, by where the data in it came from.

Exit codes:
  0  done
  1  failed
  2  usage, or files with problems
  3  denied by a policy
  4  a budget is used up
  5  waiting for approval
  130  cancelled`

func (c *command) root() *cobra.Command {
	root := group("callgate", "Run agents, and decide each of their calls")
	root.Long = about
	root.Example = `  callgate run examples/invoices
  callgate exec program.star --steps 5M
  callgate check examples
  callgate runs list`
	root.PersistentFlags().StringVar(&c.identity, "identity", "", "`file` of the age identity that opens runs which are encrypted; or CALLGATE_IDENTITY names it")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpVerb(root))
	root.AddCommand(c.initVerb(), c.runVerb(), c.replVerb(), c.execVerb(), c.checkVerb(), c.testVerb(), c.policyVerb(), c.explainVerb(), c.schemaVerb(), c.runsVerb(), c.approvalsVerb(), c.doctorVerb(), c.versionVerb())
	return root
}

// addCompletion adds cobra's own verb, which would show its help for whatever it does not know. It writes to what is
// the output now.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, group("", "").RunE
		}
	}
}

// helpVerb shows the help of a verb, and knows which ones there are.
func helpVerb(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Help about a verb",
		RunE: func(_ *cobra.Command, args []string) error {
			at, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownVerb("help: ", at, rest[0])
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}

// unknownVerb is the error of a verb that a group does not have.
func unknownVerb(where string, group *cobra.Command, name string) error {
	var verbs []string
	for _, v := range group.Commands() {
		if v.IsAvailableCommand() {
			verbs = append(verbs, v.Name())
		}
	}
	hint := "there are " + strings.Join(verbs, ", ")
	if near := spec.Nearest(name, verbs); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage(hint, "%sunknown verb %q", where, name)
}

// group is a command that is nothing without one of its verbs.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownVerb(verb(cmd), cmd, args[0])
		},
	}
}

// verb names a verb in an error: "runs list: ", and nothing for callgate itself.
func verb(cmd *cobra.Command) string {
	_, path, ok := strings.Cut(cmd.CommandPath(), " ")
	if !ok {
		return ""
	}
	return path + ": "
}

// flagError says what is wrong with a flag, and which one was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		hint := fmt.Sprintf("%s --help lists them", cmd.CommandPath())
		if near := spec.Nearest(name, flagNames(cmd)); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
		return usage(hint, "%sunknown flag --%s", verb(cmd), name)
	}
	if _, rest, ok := strings.Cut(err.Error(), ` for "--`); ok { // invalid argument "x" for "--flag" flag: …
		if name, why, ok := strings.Cut(rest, `" flag: `); ok {
			return usage("", "%s--%s: %s", verb(cmd), name, why)
		}
	}
	return usage("", "%s%v", verb(cmd), err)
}

// arguments checks how many there are; what says what is wanted.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usage("", "%sgot %d arguments, want %s", verb(cmd), n, what)
		}
		return nil
	}
}

// run runs a command line, says what went wrong and returns the exit code.
func (c *command) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	addCompletion(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := exitFailed
	if e, ok := errors.AsType[*exitError](err); ok {
		code, err = e.code, e.err
	}
	if err != nil {
		c.say(err.Error())
	}
	if errors.Is(err, journal.ErrEncrypted) {
		c.say("hint: --identity FILE, or CALLGATE_IDENTITY, names the file of an age identity that opens it; runs list, runs verify and --raw need none")
	}
	return code
}

// say writes to standard error, each line with the command's name before it.
func (c *command) say(text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("callgate: " + console.Clean(line) + "\n")
	}
	// If this fails there is nowhere left to say so.
	_, _ = c.stderr.WriteString(b.String())
}

// sayLines is say for some lines.
func (c *command) sayLines(lines []string) {
	for _, l := range lines {
		c.say(l)
	}
}

// tell says what is wrong with files.
func (c *command) tell(problems []spec.Problem) {
	for _, p := range problems {
		c.say(p.String())
	}
}

// invalid is the end of a command whose files have problems, which have been told.
func (c *command) invalid(problems []spec.Problem) error {
	c.tell(problems)
	return quit(exitUsage)
}
