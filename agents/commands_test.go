package agents_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/spec"
)

// An agent has as many commands as its file names, each a tool of its own name.
func TestAnAgentsCommands(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	command := func(name string) string {
		return fmt.Sprintf("  - {use: command, name: %s, doc: Succeed., run: [/bin/sh, -c, exit 0]}\n", name)
	}
	const set = "---\napiVersion: callgate/v1\nkind: Toolset\nmetadata: {name: more}\nspec:\n  tools:\n"
	for _, test := range []struct {
		name, tools string
		tool        string // that there is
		want        string // all that is wrong
	}{
		{"two", command("text.count") + command("text.find"), "text.count text.find", ""},
		{"one of a toolset besides", command("text.count") + "  - {use: more}\n" + set + command("text.find"), "text.count text.find", ""},
		{"one name twice", command("text.count") + command("text.count"), "", `agent.yaml:8:26: tool "text.count": declared twice, first at agent.yaml:7:26`},
		{"again in a toolset", command("text.count") + "  - {use: more}\n" + set + command("text.count"), "", `agent.yaml:15:26: tool "text.count": declared twice, first at agent.yaml:7:26`},
		{"the name of another tool", "  - {use: files.list, root: .}\n" + command("files.list"), "", `agent.yaml:8:26: tool "files.list": declared twice, first at agent.yaml:7:11`},
		{"the name of one of a group", "  - {use: files, root: .}\n" + command("files.list"), "", `agent.yaml:8:11: tool "files.list": granted twice, first at agent.yaml:7:11`},
		{"the name of a group", "  - {use: files, root: .}\n" + command("files"), "", `agent.yaml:8:26: tool "files": declared twice, first at agent.yaml:7:11`},
		{"a name within another's", command("text.count") + command("text"), "", `agent.yaml:7:11: tool "text.count": there is a tool "text", at agent.yaml:8:11, and a tool holds no others`},
		{"a name of the language", command("len"), "", `agent.yaml:7:11: tool "len": the language has the name len`},
		{"a word of the language", command("text.for"), "", `agent.yaml:7:11: tool "text.for": a word of the language cannot be a name`},
		{"no name", "  - {use: command, doc: x, run: [/bin/sh]}\n  - {use: command, doc: x, run: [/bin/sh]}\n", "", "agent.yaml:7:11: command: option name: "},
		{"a group twice", "  - {use: files, root: .}\n  - {use: files, root: agent}\n", "", `agent.yaml:8:11: tool "files": declared twice, first at agent.yaml:7:11`},
	} {
		dir := folder(t, map[string]string{
			"callgate.yaml": strings.Replace(host, "  policies: [./policies]\n", "", 1), "main.star": "done(1)\n",
			"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: clerk}\nspec:\n  program: main.star\n  tools:\n" + test.tools,
		})
		p, problems := spec.Load(dir, "")
		a, more := agents.Build(t.Context(), p, agents.Options{State: t.TempDir()})
		var got []string
		for _, p := range append(problems, more...) {
			if !p.Warn {
				got = append(got, strings.ReplaceAll(p.String(), dir+"/", ""))
			}
		}
		if all := strings.Join(got, "\n"); (all == "") != (test.want == "") || !strings.Contains(all, test.want) {
			t.Errorf("%s: got\n%s\nwant %s", test.name, all, test.want)
		}
		for n, text := range got {
			if n > 0 && text == got[n-1] {
				t.Errorf("%s: said twice: %s", test.name, text)
			}
		}
		if a != nil {
			defer a.Close()
		}
		if a == nil || test.want != "" {
			continue
		}
		var tools []string
		for _, tool := range a.Tools().All() {
			tools = append(tools, tool.Name)
		}
		if strings.Join(tools, " ") != test.tool {
			t.Errorf("%s: tools %q, want %s", test.name, tools, test.tool)
		}
	}
}
