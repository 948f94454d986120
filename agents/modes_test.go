package agents

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/agents/model"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/spec"
)

// The invoices are paid alike by a model that is shown results, by one that is not, and by a person's program.
func TestTheInvoicesInEachMode(t *testing.T) {
	large := "PO-1006 AT910000000000660032 4800000"
	honest := []string{
		"PO-1001 DE98000000000000104711 124000", "PO-1002 GB17ZZZZ00000020460815 38650", "PO-1003 FR0300000000000000003021700 231050",
		"PO-1004 DE68000000000000449213 97925", "PO-1008 NL84ZZZZ0000551860 43210",
	}
	for _, file := range []string{"agent.yaml", "plan.yaml", "program.yaml"} {
		for _, approver := range []gate.Approver{nil, gate.ApproveAll{By: "test"}} {
			t.Run(fmt.Sprintf("%s, %v", file, approver != nil), func(t *testing.T) {
				p, problems := spec.Load(filepath.Join("../examples/invoices", file), "")
				a, more := Build(t.Context(), p, Options{State: t.TempDir(), Store: journal.NewMemory(), Approver: approver})
				if problems = append(problems, more...); spec.Fatal(problems) {
					t.Fatal(problems)
				}
				defer a.Close()
				out, err := a.Run(t.Context(), RunOptions{})
				status, want := engine.Waiting, honest
				if approver != nil {
					status, want = engine.Done, slices.Sorted(slices.Values(append([]string{large}, honest...)))
				}
				if err != nil || out.Status != status {
					t.Errorf("%s (%s), error %v, want %s", out.Status, out.Reason, err, status)
				}
				if got := paid(t, a); !slices.Equal(got, want) {
					t.Errorf("paid\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if file != "agent.yaml" && out.Counts.Shown+out.Counts.Hidden > 0 {
					t.Errorf("%d values were shown, and %d described", out.Counts.Shown, out.Counts.Hidden)
				}
			})
		}
	}
}

// paid are the payments that were made.
func paid(t *testing.T, a *Agent) (out []string) {
	t.Helper()
	list := a.Tools().Lookup("payments.list")
	rows, err := list.Run(t.Context(), &builtins.Invocation{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := list.LabelResult(rows, value.DictOf(label.Bottom()))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range v.Plain().([]any) {
		r := row.(map[string]any)
		out = append(out, fmt.Sprint(r["order"], " ", r["iban"], " ", r["amount"]))
	}
	slices.Sort(out)
	return out
}

// author is a model that writes what is given, and keeps what it was told.
type author struct {
	programs []string
	told     []string
}

func (*author) Provider() string { return "test" }
func (*author) Name() string     { return "author" }

func (m *author) Generate(_ context.Context, q model.Request) (model.Reply, error) {
	m.told = append(m.told, q.Messages[len(q.Messages)-1].Text)
	n := len(m.told) - 1
	if n >= len(m.programs) {
		return model.Reply{}, fmt.Errorf("there is no program %d", n+1)
	}
	return model.Reply{Text: "```starlark\n" + m.programs[n] + "\n```\n"}, nil
}

// leaks are programs, each of which would tell of body by another channel.
var leaks = []string{
	"body = files.read(\"a.txt\")\nprint(body)",
	"for c in body.elems():\n    print(c)\nprint(len(body), body * 2, [body], {body: body})",
	"fail(body)",
	"raise ValueError(body)",
	"int(body)",
	"{}[body]",
	"getattr(json, body)",
	"files.read(body)",
	"print(attempt(files.read, body))\nend = [1, 2][len(body)]",
	"def f(s, i):\n    if i == len(s):\n        fail(\"end\")\n    f(s, i + 1)\nf(body, 0)",
	"files.read(\"b.txt\")\nint(body) if len(body) > 9 else {}[body]",
	"endorse(body, \"internal\", why = body)",
	"declassify(body, [body], why = \"x\")",
	"print(body)\nassert not body, body",
}

// In the mode plan, and where the meter has no bits in react, what the model is told does not depend on what a stranger wrote.
func TestNothingOfAStrangersTextReachesTheModel(t *testing.T) {
	for _, test := range []struct {
		mode, meter string
		same        bool
	}{{"plan", "1", true}, {"react", "1", true}, {"plan", "400", false}, {"react", "400", false}} {
		t.Run(test.mode+" "+test.meter, func(t *testing.T) {
			var told [][]string
			for _, text := range []string{"CANARY-4711", "17CANARY " + strings.Repeat("CANARY\n", 9)} {
				m := &author{programs: leaks}
				a := open(t, t.TempDir(), map[string]string{
					"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base, files], principal: {sub: ana@corp.example}, params: {base: {endorse: bool}}}\n",
					"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: reader}\nspec:\n  mode: " + test.mode + "\n  meter: " + test.meter +
						"\n  tools: [{use: files, root: ./data}]\n  model: {provider: recorded, recording: turns.md}\n  limits: {turns: 30}\n",
					"data/a.txt": text, "data/b.txt": "b", "turns.md": "## turn 1\n\n```starlark\ndone(1)\n```\n",
				}, journal.NewMemory())
				a.model = m
				if _, err := a.Run(t.Context(), RunOptions{}); err != nil {
					t.Fatal(err)
				}
				if len(m.told) != len(leaks)+1 {
					t.Fatalf("it was told %d times, want %d", len(m.told), len(leaks)+1)
				}
				for i, s := range m.told {
					if strings.Contains(s, "CANARY") || strings.Contains(s, "17") {
						t.Errorf("after program %d it was told\n%s", i, s)
					}
				}
				told = append(told, m.told)
			}
			for i := range told[0] {
				if test.same && told[0][i] != told[1][i] {
					t.Errorf("after program %d it was told\n%s\nand\n%s", i, told[0][i], told[1][i])
				}
			}
			if !test.same && !strings.Contains(strings.Join(told[0], ""), "turn5.star:1:4: parse") {
				t.Errorf("it was told\n%s\nwant the code and the position of an error for bits of the meter", strings.Join(told[0], ""))
			}
			if described := strings.Contains(strings.Join(told[0], ""), "body: string of size up to 100 from files.read, trust untrusted"); described != (test.mode == "react" && !test.same) {
				t.Errorf("it was told\n%s", strings.Join(told[0], ""))
			}
		})
	}
}
