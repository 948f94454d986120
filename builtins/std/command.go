package std

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/builtins"
	"callgate/engine/confine"
	"callgate/engine/label"
)

func commandSet() set {
	return set{
		Factory{
			Name: "command",
			Doc:  "One program of this machine as a tool, confined to what the options name. No shell reads what it is given.",
			Options: append([]builtins.Param{
				{Name: "name", Doc: "The name of the tool, such as text.count.", Schema: schema(`{"type": "string", "pattern": "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*$"}`), Required: true},
				{Name: "doc", Doc: "What the tool does, for the model.", Schema: schema(textSchema), Required: true},
				{Name: "run", Doc: "The path of the program and its arguments, each as it is. {NAME} stands for a parameter.", Schema: schema(`{"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string"}}`), Required: true},
				{Name: "params", Doc: "The parameters of the tool: name, doc, type (text, integer or number), options (the texts that it may be), optional, sink (word).", Schema: schema(commandParams)},
				{Name: "stdin", Doc: "The parameter that the program reads from its standard input. Its sink is content, unless it says otherwise.", Schema: schema(textSchema)},
				{Name: "system", Doc: "Whether it sees the programs and libraries of the system (/usr, /bin, /lib). Default: true.", Schema: schema(boolSchema)},
				{Name: "read", Doc: "Files and folders that it sees besides, relative to the agent file. It begins in that one's folder.", Schema: schema(`{"type": "array", "items": {"type": "string", "minLength": 1}}`)},
				{Name: "write", Doc: "A folder, relative to the state folder, where it can write. If there is one it begins there.", Schema: schema(`{"type": "string", "minLength": 1}`)},
				{Name: "network", Doc: "Whether it has the network of this machine, and with it whatever listens there. Default: false.", Schema: schema(boolSchema)},
				{Name: "env", Doc: "Its environment variables. Default: none but PATH.", Schema: schema(`{"type": "object", "additionalProperties": {"type": "string"}}`)},
				{Name: "memory", Doc: "The most memory that it may have, such as 64MiB. Default: 512MiB."},
				{Name: "seconds", Doc: "How long it may take, in seconds. Default: 30."},
				{Name: "max_size", Doc: "The most that its output may be, and its errors, such as 64KiB. Default: 1MiB."},
			}, labelOptions("untrusted")...),
			build: buildCommand,
		},
		nil,
	}
}

const commandParams = `{"type": "array", "items": {"type": "object", "required": ["name"], "additionalProperties": false, "properties": {
	"name": {"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}, "doc": {"type": "string"}, "type": {"enum": ["text", "integer", "number"]},
	"options": {"type": "array", "minItems": 1, "items": {"type": "string"}}, "optional": {"type": "boolean"}, "sink": {"type": "string"}}}}`

// commandTool is a command as its options describe it.
type commandTool struct {
	words   []word
	stdin   string
	command confine.Command
}

// word is an argument: texts and, between them, parameters.
type word struct{ texts, params []string }

var placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)

func wordOf(s string) word {
	var w word
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		w.texts, w.params = append(w.texts, s[end:m[0]]), append(w.params, s[m[2]:m[3]])
		end = m[1]
	}
	w.texts = append(w.texts, s[end:])
	return w
}

// interpreters are programs that run the text after an option as a program.
var interpreters = regexp.MustCompile(`^((ba|da|a|z|k|fi)?sh|busybox|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|php[0-9.]*|lua[0-9.]*)$`)

// scripts are those options.
var scripts = regexp.MustCompile(`^(-[a-zA-Z]*[cerp]|--(eval|print|run|command))$`)

// isScript reports whether a program takes what comes after an option for a program.
func isScript(program, option string) bool {
	return interpreters.MatchString(filepath.Base(program)) && scripts.MatchString(option)
}

func buildCommand(_ context.Context, b *builder) (*Toolset, error) {
	l := b.label(label.Untrusted)
	seconds := b.seconds("seconds", 30, 3600)
	t := &builtins.Tool{
		Name: b.text("name", ""), Effects: builtins.Read, Label: builtins.Source{Class: l, Of: b.text("name", "")}, Derives: true, Idempotent: true,
		Doc:     b.text("doc", "") + "\nReturns its exit code, 0 for success, and what it wrote. Fails with too-large, not-text, cannot-start, invalid or isolation.",
		Returns: schema(`{"type": "object", "required": ["code", "output", "errors"], "properties": {"code": {"type": "integer"}, "output": {"type": "string"}, "errors": {"type": "string"}}}`),
		Timeout: time.Duration(seconds) * time.Second,
	}
	c := &commandTool{stdin: b.text("stdin", "")}
	c.command.Output = int(b.size("max_size", 1<<20, 1, 64<<20))
	c.command.Profile.Budget = confine.Budget{Memory: b.size("memory", 512<<20, 1<<20, 64<<30), Seconds: int(seconds) + 1}
	ts := &Toolset{Tools: []*builtins.Tool{t}, Close: func() error { return nil }}

	run := texts(builtins.Arg[[]any](b.in, "run"))
	c.command.Path = filepath.Clean(run[0])
	if !filepath.IsAbs(run[0]) || strings.ContainsAny(run[0], "{}") {
		b.fail("run", fmt.Sprintf("got the program %q, want its absolute path", run[0]))
	} else if st, err := os.Stat(run[0]); err != nil {
		b.failed("run", err)
	} else if !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		b.fail("run", fmt.Sprintf("got the program %q, want a file that can be executed", run[0]))
	}
	for i, s := range run[1:] {
		w := wordOf(s)
		if len(w.params) > 0 && isScript(run[0], run[i]) {
			b.fail("run", fmt.Sprintf("{%s} is within a text that %s runs as a program: whoever chooses it would write that; give it as an argument of its own, which the text reads", w.params[0], filepath.Base(run[0])))
		}
		c.words = append(c.words, w)
	}
	b.commandParams(t, c)

	// Named as the options name them: wherever the agent's files are, the journal says the same.
	widen := func(words ...string) { t.Widens = append(t.Widens, strings.Join(words, " ")) }
	widen("run", run[0])
	profile := &c.command.Profile
	see := func(option, name, path string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			b.failed(option, err)
			return
		}
		ts.Places = append(ts.Places, Place{name, real, l, false})
		profile.Read = append(profile.Read, real)
		widen("read", name)
	}
	if system, given := b.in.Args["system"].(bool); system || !given {
		for _, path := range systemFolders(b.yes("network")) {
			if real, err := filepath.EvalSymlinks(path); err == nil && real == path { // a link is made where it leads to another of them
				see("system", path, path)
			}
		}
	}
	for _, name := range texts(builtins.Arg[[]any](b.in, "read")) {
		if path := b.place("read", name, false); path != "" {
			see("read", name, path)
		}
	}
	if real, err := filepath.EvalSymlinks(run[0]); err == nil && !slices.ContainsFunc(profile.Read, func(f string) bool { return real == f || strings.HasPrefix(real, f+"/") }) {
		see("run", run[0], run[0])
		c.command.Path = real
	}
	if name := b.text("write", ""); name != "" {
		if f := b.folder("write", name, true); f != nil {
			ts.Close = f.root.Close
			ts.Places = append(ts.Places, f.place(l, true))
			profile.Write, c.command.Dir = []string{f.path}, f.path
			t.State, t.Effects, t.Idempotent = f.state(l, true), builtins.Read|builtins.Write|builtins.Destructive, false
			widen("write", name)
		}
	}
	if dir, err := filepath.EvalSymlinks(b.env.Dir); err == nil && c.command.Dir == "" && slices.ContainsFunc(profile.Read, func(f string) bool { return strings.HasPrefix(f, dir+"/") }) {
		c.command.Dir = dir // of which it sees what leads to what it may read
	}
	profile.Env = []string{"PATH=/usr/bin:/bin"}
	env := builtins.Arg[map[string]any](b.in, "env")
	for _, name := range sortedNames(env) {
		text, _ := env[name].(string)
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(text, 0) {
			b.fail("env", fmt.Sprintf("got %q, want the name of a variable", name))
		}
		profile.Env = append(profile.Env, name+"="+text)
		widen("know", name)
	}
	if b.yes("network") {
		profile.Network = true
		t.Effects, t.Idempotent = builtins.Read|builtins.Write|builtins.Egress|builtins.Destructive, false
		widen("network")
	}
	t.Run = c.run
	return ts, nil
}

// systemFolders are where a system keeps programs and what they need. With the network that is also how names are looked up, and whom to believe.
func systemFolders(network bool) []string {
	out := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives", "/etc/ld.so.cache"}
	if network {
		out = append(out, "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/ssl", "/etc/ca-certificates")
	}
	return out
}

func sortedNames(m map[string]any) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// commandParams makes the tool's parameters.
func (b *builder) commandParams(t *builtins.Tool, c *commandTool) {
	used := map[string]bool{}
	for _, w := range c.words {
		for _, p := range w.params {
			used[p] = true
		}
	}
	if c.stdin != "" {
		used[c.stdin] = true
	}
	declared := map[string]bool{}
	for _, x := range builtins.Arg[[]any](b.in, "params") {
		m, _ := x.(map[string]any)
		name, _ := m["name"].(string)
		kind, _ := m["type"].(string)
		doc, _ := m["doc"].(string)
		sink, _ := m["sink"].(string)
		optional, _ := m["optional"].(bool)
		p := builtins.Param{Name: name, Doc: doc, Required: !optional, Sink: sink}
		of := map[string]any{"type": "string"}
		switch kind {
		case "integer", "number":
			of["type"] = kind
		default:
			if list, ok := m["options"].([]any); ok {
				of["enum"] = list
			}
		}
		var err error
		if p.Schema, err = json.Marshal(of); err != nil {
			b.failed("params", err)
		}
		if p.Sink == "" {
			p.Sink = "word"
			if name == c.stdin {
				p.Sink = "content"
			}
		}
		switch {
		case declared[name]:
			b.fail("params", fmt.Sprintf("%s: declared twice", name))
		case !used[name]:
			b.fail("params", fmt.Sprintf("%s: neither in run nor stdin", name))
		}
		declared[name] = true
		t.Params = append(t.Params, p)
	}
	for name := range used {
		if !declared[name] {
			option := "run"
			if name == c.stdin {
				option = "stdin"
			}
			b.fail(option, fmt.Sprintf("got {%s}, want one of params", name))
		}
	}
}

// run runs the command with arguments.
func (c *commandTool) run(ctx context.Context, in *builtins.Invocation) (any, error) {
	command := c.command
	for _, w := range c.words {
		text, given, err := w.fill(in.Args)
		if err != nil {
			return nil, err
		}
		if given {
			command.Args = append(command.Args, text)
		}
	}
	if c.stdin != "" {
		text, _ := plainWord(in.Args[c.stdin])
		command.Stdin = []byte(text)
	}
	done, err := command.Run(ctx)
	if err != nil {
		return nil, commandFailed(err)
	}
	if !utf8.Valid(done.Out) || !utf8.Valid(done.Err) {
		return nil, fail("not-text", "what the command wrote is not UTF-8 text")
	}
	return map[string]any{"code": int64(done.Code), "output": string(done.Out), "errors": string(done.Err)}, nil
}

func commandFailed(err error) error {
	if _, ok := errors.AsType[*confine.TooMuchError](err); ok {
		return fail("too-large", "%v", err)
	}
	if _, ok := errors.AsType[*confine.MissingError](err); ok {
		return fail("isolation", "no command can be run here: %v", err)
	}
	if _, ok := errors.AsType[*confine.NotStartedError](err); ok {
		return fail("cannot-start", "%v", err)
	}
	return err
}

// fill puts arguments in. A word whose parameters are all left out is left out. One that a parameter begins must not become an option of the program.
func (w word) fill(args map[string]any) (text string, given bool, err error) {
	given = len(w.params) == 0
	for i, t := range w.texts {
		text += t
		if i == len(w.params) {
			break
		}
		if v, ok := args[w.params[i]]; ok {
			s, ok := plainWord(v)
			if !ok {
				return "", false, fail("invalid", "%s: has a NUL, which no argument can have", w.params[i])
			}
			if text == "" && strings.HasPrefix(s, "-") {
				if _, isText := v.(string); isText {
					return "", false, fail("invalid", "%s: begins with -, which the command may take for an option", w.params[i])
				}
			}
			text, given = text+s, true
		}
	}
	return text, given, nil
}

// plainWord is an argument as a text.
func plainWord(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, !strings.ContainsRune(v, 0)
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return fmt.Sprint(v), true
}
