package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/spec"
)

// templates are the files that init writes: what all agents have, and what each kind has besides. They work as they are.
//
//go:embed templates
var templates embed.FS

// What stands in the templates for the agent's name and for the principal.
const (
	templateName      = "my-agent"
	templatePrincipal = "you@corp.example"
)

// ignored is what of an agent's folder is not for a repository.
const ignored = `# What runs leave behind, and keys
/state/
*.key
`

// editorSchemas are the kinds of document whose schemas editors are told of.
var editorSchemas = []string{"Agent", "Host", "Policy", "Scenario", "Toolset"}

// initFlags are the flags of init.
type initFlags struct {
	template  *choice
	name      string
	principal string
	json      bool
}

func (c *command) initVerb() *cobra.Command {
	f := initFlags{template: &choice{"react", []string{"react", "program", "openai"}}}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write an agent that works, with a policy and tests",
		Long: `Write an agent that works into a folder, which is made if it is not there: agent.yaml, callgate.yaml with the principal and the policies,
a policy in CEL, two mails to work on, and tests. callgate check, callgate test and callgate run work on it at once; only the template openai needs a
key to run, and none to be tested.

Nothing is asked, and nothing is overwritten: if one of the files is there, none is written. Editors with a YAML language server complete and check
the documents by the schemas in the folder schemas, without a network; callgate schema KIND writes them anew.

  react     a model writes programs; a recording stands for it, so that it needs no key
  program   a person's main.star, without a model
  openai    a model of OpenAI, or of a server that speaks as it does`,
		Example: `  callgate init ./desk
  callgate init ./desk --template program --name desk --principal ana@corp.example
  callgate init --json`,
		Args: arguments(0, 1, "a folder, or none for this one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return c.init(cmd, dir, f)
		},
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	fl := cmd.Flags()
	fl.Var(f.template, "template", "what kind of agent it is")
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(f.template.words, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	fl.StringVar(&f.name, "name", "", "the agent's `name`; that of the folder if it is one")
	fl.StringVar(&f.principal, "principal", templatePrincipal, "on whose behalf it runs: a `principal` such as ana@corp.example")
	fl.BoolVar(&f.json, "json", false, "write what was made as JSON")
	return cmd
}

// made is what init has made, as JSON has it.
type made struct {
	Dir      string   `json:"dir"`
	Template string   `json:"template"`
	Agent    string   `json:"agent"`
	Files    []string `json:"files"` // seen from dir
	Next     []string `json:"next"`  // what to type
}

var (
	agentName     = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	principalName = regexp.MustCompile(`^[^\s,{}#"'\\:]+$`)
)

// init writes the files of an agent.
func (c *command) init(cmd *cobra.Command, dir string, f initFlags) error {
	name, err := f.agent(dir)
	if err != nil {
		return err
	}
	if !principalName.MatchString(f.principal) || console.Line(f.principal) != f.principal {
		return usage("", "--principal %q: want a name such as ana@corp.example", f.principal)
	}
	files, err := written(f.template.value, strings.NewReplacer(templateName, name, templatePrincipal, f.principal))
	if err != nil {
		return err
	}
	out := made{Dir: dir, Template: f.template.value, Agent: name}
	var there []string
	for file := range files {
		out.Files = append(out.Files, file)
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(file))); err == nil {
			there = append(there, file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	slices.Sort(out.Files)
	slices.Sort(there)
	if there != nil {
		return usage("name another folder, or take these away: nothing is overwritten", "%s: got %s, which an agent would have", dir, strings.Join(there, ", "))
	}
	for _, file := range out.Files {
		if err := create(filepath.Join(dir, filepath.FromSlash(file)), files[file]); err != nil {
			return err
		}
	}
	at := word(dir)
	out.Next = []string{"callgate check " + at, "callgate test " + at, "callgate run " + at, "callgate repl " + at}
	if f.template.value == "openai" {
		out.Next[2] = "OPENAI_API_KEY=… callgate run " + at
	}
	if f.json {
		err = c.writeLine(out)
	} else {
		_, err = c.stdout.WriteString(out.text())
	}
	if err != nil {
		return err
	}
	problems, _, err := check(cmd.Context(), []string{dir}) // what is above the folder may be in its way
	if err != nil {
		return err
	}
	if c.tell(problems); spec.Fatal(problems) {
		return quit(exitUsage)
	}
	return nil
}

// agent is the agent's name: the one given, or that of the folder, as far as it is one.
func (f initFlags) agent(dir string) (string, error) {
	if f.name != "" {
		if !agentName.MatchString(f.name) {
			return "", usage("", "--name %q: want lower-case letters, digits and dashes, a letter first", f.name)
		}
		return f.name, nil
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if name := strings.ToLower(filepath.Base(whole)); agentName.MatchString(name) {
		return name, nil
	}
	return templateName, nil
}

// written are the files of a template, by their paths.
func written(template string, named *strings.Replacer) (map[string][]byte, error) {
	files := map[string][]byte{".gitignore": []byte(ignored)}
	for _, part := range []string{"common", template} {
		root := path.Join("templates", part)
		err := fs.WalkDir(templates, root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := templates.ReadFile(file)
			if err != nil {
				return err
			}
			file = strings.TrimPrefix(file, root+"/")
			if file == "tests.yaml" {
				file = "tests/agent.yaml"
			}
			files[file] = []byte(named.Replace(string(text)))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, kind := range editorSchemas {
		schema, err := spec.Schema(kind)
		if err != nil {
			return nil, err
		}
		files["schemas/"+strings.ToLower(kind)+".json"] = schema
	}
	return files, nil
}

// create writes a file that is not there, and the folders above it.
func create(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// text tells people what was made, and what to do with it.
func (m made) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s%s, in %s\n", "agent", m.Agent, console.Line(m.Dir))
	for i, file := range m.Files {
		word := ""
		if i == 0 {
			word = "files"
		}
		fmt.Fprintf(&b, "%-10s%s\n", word, file)
	}
	for i, next := range m.Next {
		word := ""
		if i == 0 {
			word = "next"
		}
		fmt.Fprintf(&b, "%-10s%s\n", word, console.Line(next))
	}
	return b.String()
}
