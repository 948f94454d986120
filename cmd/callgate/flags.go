package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"callgate/spec"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	words []string
}

func (f *choice) String() string { return f.value }
func (f *choice) Type() string   { return strings.Join(f.words, "|") }

func (f *choice) Set(s string) error {
	if !slices.Contains(f.words, s) {
		return fmt.Errorf("got %q, want one of %s", s, strings.Join(f.words, ", "))
	}
	f.value = s
	return nil
}

// quantity is a flag that takes a number with a unit.
type quantity[N ~int64] struct {
	value N
	parse func(string) (N, error)
	unit  string
}

func (f *quantity[N]) Type() string { return f.unit }

func (f *quantity[N]) String() string { return "" }

func (f *quantity[N]) Set(s string) error {
	n, err := f.parse(s)
	f.value = n
	return err
}

var longFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)

// flagNames are the long names of a verb's flags.
func flagNames(cmd *cobra.Command) (names []string) {
	for _, m := range longFlag.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return names
}

// inputName is what programs can name an input by.
var inputName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// maxInput is the size of the largest input, in bytes.
const maxInput = 16 << 20

// inputs reads name=value and name=@file. All that is wrong is said at once.
func inputs(given []string) (map[string]string, error) {
	out := map[string]string{}
	var bad []string
	fail := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for _, g := range given {
		name, text, ok := strings.Cut(g, "=")
		if !ok || name == "" {
			fail("--input %q: want name=value or name=@file", g)
			continue
		}
		if !inputName.MatchString(name) {
			fail("--input %q: want a name of lower-case letters, digits and _ that begins with a letter", name)
			continue
		}
		if _, twice := out[name]; twice {
			fail("--input %s: given twice", name)
			continue
		}
		if file, ok := strings.CutPrefix(text, "@"); ok {
			var err error
			if text, err = readInput(file); err != nil {
				fail("--input %s: %v", name, err)
			}
		}
		if !utf8.ValidString(text) {
			fail("--input %s: is no UTF-8", name)
		}
		out[name] = text
	}
	if bad != nil {
		return nil, usage("", "%s", strings.Join(bad, "\n"))
	}
	return out, nil
}

func readInput(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if info.Size() > maxInput {
		return "", fmt.Errorf("%s: got %d bytes, want at most %d", file, info.Size(), maxInput)
	}
	b, err := os.ReadFile(file)
	return string(b), err
}

// policyFlag adds --policies.
func policyFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "policies", "", "`folder` or file of policies, in place of those that callgate.yaml names")
}

// approveFlag adds --approve.
func approveFlag(cmd *cobra.Command) *choice {
	f := &choice{"ask", []string{"ask", "none", "all"}}
	cmd.Flags().Var(f, "approve", "who approves what policies ask for: ask at the terminal, if there is one; none, so that the run waits; all, for demonstrations")
	return f
}

// checkTask says where a task was given, if it was given twice.
func checkTask(task string, inputs map[string]string) error {
	if _, twice := inputs["task"]; twice && task != "" {
		return usage("", "--task and --input task=…: got both, want one")
	}
	return nil
}

// size, count and wall are flags of limits.
func size() *quantity[int64]  { return &quantity[int64]{parse: spec.ParseSize, unit: "size"} }
func count() *quantity[int64] { return &quantity[int64]{parse: spec.ParseCount, unit: "count"} }
