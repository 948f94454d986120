package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hostHead = "apiVersion: callgate/v1\nkind: Host\nspec:\n"

// TestHostileFiles feeds the loader what is meant to crash, hang or deceive it.
func TestHostileFiles(t *testing.T) {
	bomb := hostHead + "  params:\n    a0: &a0 [x, x]\n"
	for i := 1; i < 40; i++ {
		bomb += fmt.Sprintf("    a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for _, test := range []struct {
		name string
		text string
		want string // the first problem begins with it after the file's name; "" means that there is none
	}{
		{"a byte order mark is no character", "\ufeff" + hostHead + "  library: [base]\n", ""},
		{"CR LF ends a line", strings.ReplaceAll(hostHead+"  library: [base]\n", "\n", "\r\n"), ""},
		{"a lone CR ends a line", strings.ReplaceAll(hostHead+"  library: [Base]\n", "\n", "\r"), `4:13: spec.library[0]: got "Base"`},
		{"positions after a byte order mark and CR LF", "\ufeff" + strings.ReplaceAll(hostHead+"  library: [Base]\n", "\n", "\r\n"), `4:13: spec.library[0]: got "Base"`},
		{"columns count characters", hostHead + "  params: {\"é😀\": 1_0}\n", "4:18: spec.params.é😀: 1_0"},
		{"UTF-16", "\xff\xfea\x00:\x00", "1:1: got UTF-16"},
		{"bytes that are not UTF-8", hostHead + "  state: \"\xc3\x28\"\n", "4:11: a byte that is not UTF-8"},
		{"a NUL", "kind: Host\x00", "1:11: control character U+0000"},
		{"a character that turns the reading direction", hostHead + "  state: \"a\u202eb\"\n", "4:12: direction control U+202E"},
		{"a line separator that some readers count", "# a\u2028kind: Host\n", "1:4: line separator U+2028"},
		{"an empty file", "", ": the file has no document"},
		{"comments alone", "# a\n---\n# b\n--- # c\n...\n", ": the file has no document"},
		{"a bomb of aliases", bomb, "5:9: anchors such as &a0"},
		{"an alias of itself", hostHead + "  params: &p {a: *p}\n", "4:11: anchors such as &p"},
		{"brackets within brackets", hostHead + "  params: {a: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}\n", "4:77: nested deeper than 64"},
		{"brackets without end", hostHead + "  params: {a: " + strings.Repeat("[", 50_000), "4:"},
		{"braces without end", hostHead + "  params: " + strings.Repeat("{a: ", 50_000), "4:"},
		{"lists within lists in one line", hostHead + "  params: {a: 1}\n  b:\n" + strings.Repeat("- ", 5_000) + "x\n", "6:"},
		{"maps within maps by indentation", deepBlock(300), "67:66: nested deeper than 64"},
		{"a file that is too long", hostHead + "  state: " + strings.Repeat("x", maxFile), ": got 1048626 bytes, want 1048576 at most"},
		{"too many values", hostHead + "  params: {a: [" + strings.Repeat("1,", 250_000) + "]}\n", "4:399994: got more than 200000 values"},
		{"too many documents", strings.Repeat("--- 1\n", 2000), "1:5: got the number 1, want a document"},
		{"a key of half a megabyte", hostHead + "  " + strings.Repeat("k", 500_000) + ": 1\n", "4:"},
		{"a comment of a megabyte", hostHead + "  library: [] #" + strings.Repeat("#\t ", 300_000) + "\n", ""},
		{"comments between everything", hostHead + strings.Repeat("  # c\n\n", 50_000) + "  library: []\n", ""},
		{"a question mark without end", strings.Repeat("? ", 10_000), "1:1: "},
		{"quotes without end", hostHead + strings.Repeat("  state: \"a\n", 20_000), "4:"},
		{"a tag without end", "!<" + strings.Repeat("a", 100_000), "1:"},
		{"blocks without end", hostHead + "  state: |\n" + strings.Repeat("    x\n", 100_000) + "  library: [\n", "100005:"},
		{"a key that is no text", "? {a: b}\n: c\n", "1:1: missing kind"},
		{"a hundred thousand unknown keys", hostHead + manyKeys(60_000), "4:3: spec: unknown key \"k0\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "h.yaml", test.text)
			start := time.Now()
			docs, ps := LoadFile("h.yaml")
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("took %v", d)
			}
			got := ""
			if len(ps) > 0 {
				got = strings.TrimPrefix(ps[0].String(), "h.yaml")
			}
			switch {
			case test.want == "" && got != "":
				t.Errorf("got %s, want no problem", got)
			case test.want == "" && len(docs.Hosts) != 1:
				t.Errorf("got %d hosts, want 1", len(docs.Hosts))
			case !strings.HasPrefix(strings.TrimPrefix(got, ":"), strings.TrimPrefix(test.want, ":")):
				t.Errorf("got %.200q, want it to begin with %q", got, test.want)
			}
			if len(ps) > maxProblems+1 {
				t.Errorf("got %d problems, want %d and a summary at most", len(ps), maxProblems)
			}
		})
	}
}

func deepBlock(depth int) string {
	var b strings.Builder
	b.WriteString(hostHead)
	for i := range depth {
		fmt.Fprintf(&b, "%sparams:\n", strings.Repeat(" ", i+2))
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  k%d: 1\n", i)
	}
	return b.String()
}

// TestStrangePaths is about what is no file.
func TestStrangePaths(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("dir.yaml", 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"dir.yaml":  "dir.yaml: got a folder, want a file",
		"none.yaml": "none.yaml: no such file",
		os.DevNull:  os.DevNull + ": not a regular file",
	} {
		_, ps := LoadFile(path)
		if len(ps) != 1 || ps[0].String() != want {
			t.Errorf("LoadFile(%q) = %v, want %s", path, ps, want)
		}
	}
}

// TestIncludesStayInside tries to read a file outside of the policies' root by a link.
func TestIncludesStayInside(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "secret.yaml", "key: hunter2\n")
	write(t, "policies/in/data.yaml", "key: fine\n")
	for link, target := range map[string]string{
		"policies/out.yaml": "../secret.yaml",
		"policies/in.yaml":  "in/data.yaml",
		"policies/up":       "..",
	} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.FromSlash(link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	write(t, "policies/p.yaml", `apiVersion: callgate/v1
kind: Policy
metadata: {name: p}
spec:
  params: {in: {file: in.yaml}, out: {file: out.yaml}, up: {file: up/secret.yaml}}
  cel: {rules: [{id: r, when: "true", action: deny}]}
`)
	policies, ps := LoadPolicies("policies/p.yaml")
	if len(policies) != 1 {
		t.Fatalf("got %d policies: %v", len(policies), ps)
	}
	if got := fmt.Sprint(policies[0].Params); got != "map[in:map[key:fine] out:<nil> up:<nil>]" {
		t.Errorf("params = %s, want what is inside alone", got)
	}
	if len(ps) != 2 || ps[0].Pos.String() != "policies/p.yaml:5:45" || ps[1].Pos.String() != "policies/p.yaml:5:67" {
		t.Errorf("problems = %v, want one for each link that leads out", ps)
	}
}

// TestFoldersOfPolicies is about links: what they lead to is read, or missed with a word.
func TestFoldersOfPolicies(t *testing.T) {
	t.Chdir(t.TempDir())
	policy := func(name string) string {
		return "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: " + name + "}\nspec: {cel: {rules: [{id: r, when: \"true\", action: deny}]}}\n"
	}
	write(t, "real/a.yaml", policy("a"))
	write(t, "elsewhere/b.yaml", policy("b"))
	write(t, "more/c.yaml", policy("c"))
	for link, target := range map[string]string{"linked": "real", "real/b.yaml": "../elsewhere/b.yaml", "real/more": "../more", "real/gone.yaml": "nowhere"} {
		if err := os.Symlink(filepath.FromSlash(target), filepath.FromSlash(link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	policies, ps := LoadPolicies("linked")
	var names []string
	for _, p := range policies {
		names = append(names, p.Meta.Name)
	}
	if got := fmt.Sprint(names); got != "[a b]" {
		t.Errorf("policies = %s, want [a b]: those of the folder that the link leads to", got)
	}
	if got, want := fmt.Sprint(ps), "[linked/gone.yaml: no such file linked/more: a link to a folder is not followed\nhint: name the folder itself]"; got != want {
		t.Errorf("problems = %s, want %s", got, want)
	}
}

// TestHostFileOfStrangers puts a host file where anybody could.
func TestHostFileOfStrangers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "callgate.yaml", hostHead+"  library: [base]\n")
	write(t, "in/agent/agent.yaml", "")
	find := func(from string) (*Host, string) {
		h, ps := FindHost(from)
		return h, fmt.Sprint(ps)
	}
	if h, ps := find("in/agent"); h == nil || ps != "[]" {
		t.Fatalf("got %v, %s; want the host file above", h, ps)
	}
	if err := os.Chmod(dir, 0o777); err != nil || !writableByAll(dir) {
		t.Skipf("folders have no permissions here: %v", err)
	}
	if h, ps := find("in/agent"); h != nil || !strings.Contains(ps, "callgate.yaml: in a folder that anybody may write to") {
		t.Errorf("got %v, %s; want a problem", h, ps)
	}
	if h, ps := find("."); h == nil || ps != "[]" {
		t.Errorf("beside the agent: got %v, %s; want it to be read", h, ps)
	}
	write(t, "in/callgate.yaml", hostHead+"  library: []\n")
	if h, ps := find("in/agent"); h == nil || h.File != "in/callgate.yaml" || ps != "[]" {
		t.Errorf("got %v, %s; want the nearest", h, ps)
	}
}
