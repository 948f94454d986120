package agents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/agents/model/modeltest"
	"callgate/builtins"
	"callgate/engine"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/spec"
)

// scripted builds an agent whose model is a script; more goes into its spec.
func scripted(t *testing.T, m model.Model, more string, o agents.Options) *agents.Agent {
	t.Helper()
	dir := folder(t, map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: scripted}\nspec:\n  model: {provider: openai, name: m" + more + "\n" +
			"  inputs: [{name: task, trust: user, readers: [\"*\"], default: go}]\n",
	})
	o.Model = m
	p, problems := spec.Load(dir, "")
	a, wrong := agents.Build(t.Context(), p, o)
	if problems = append(problems, wrong...); a == nil {
		t.Fatal(problems)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

const (
	fenced = "}"
	called = ", reply: tool}"
)

func TestRepliesWithoutAProgramThatCanBeRun(t *testing.T) {
	cut := modeltest.Fenced("done(1)")
	cut.Stop = model.StopLength
	two := modeltest.Called("a", "done(1)")
	two.Calls = append(two.Calls, model.CallOf("b", "done(2)"))
	called1 := func(name, input string) model.Reply {
		return model.Reply{Calls: []model.Call{{ID: "a", Name: name, Input: input}}}
	}
	text := func(s string) model.Reply { return model.Reply{Text: s} }
	for _, test := range []struct {
		name  string
		style string
		reply model.Reply
		told  string
	}{
		{"nothing", fenced, text(""), "there was no program in the reply"},
		{"prose", fenced, text("I would call done(1)."), "there was no program in the reply"},
		{"two programs", fenced, text("```\ndone(1)\n```\nor\n```python\ndone(2)\n```\n"), "there were 2 programs"},
		{"a block that is not closed", fenced, text("```starlark\ndone(1)\n"), "not closed"},
		{"another language", fenced, text("```sql\nselect 1\n```"), "there was no program in the reply"},
		{"a reply that was cut", fenced, cut, "was cut"},
		{"a call where there are none", fenced, modeltest.Called("a", "done(1)"), "there are no tools to call"},
		{"no call", called, modeltest.Fenced("done(1)"), "there was no call of run"},
		{"two calls", called, two, "there were 2 calls"},
		{"a tool that is not there", called, called1("mail.send", `{"program": "done(1)"}`), "no such tool"},
		{"arguments that are no JSON", called, called1("run", `{"program": "done(1)`), "no JSON object"},
		{"another argument", called, called1("run", `{"code": "done(1)"}`), "takes one argument"},
		{"one argument more", called, called1("run", `{"program": "done(1)", "trust": "system"}`), "takes one argument"},
		{"a program that is no text", called, called1("run", `{"program": ["done(1)"]}`), "takes one argument"},
		{"a call that was cut", called, func() model.Reply { r := called1("run", `{"program": "do`); r.Stop = model.StopLength; return r }(), "was cut"},
	} {
		t.Run(test.name, func(t *testing.T) {
			good := modeltest.Fenced("done(2)")
			if test.style == called {
				good = modeltest.Called("z", "done(2)")
			}
			script := &modeltest.Script{Replies: []model.Reply{test.reply, good}}
			r, err := scripted(t, script, test.style, agents.Options{}).Run(t.Context(), agents.RunOptions{})
			if err != nil || r.Status != engine.Done || r.Turns != 1 || r.Answer == nil || r.Answer.Int.Int64() != 2 {
				t.Fatalf("%+v, %v, want that the first reply is not run and the second is", r, err)
			}
			asked := script.Requests()
			messages := asked[len(asked)-1].Messages
			if last := messages[len(messages)-1].Text; len(asked) != 2 || !strings.Contains(last, test.told) || !strings.HasPrefix(last, "Nothing was run") {
				t.Errorf("asked %d times, at last with %q, want a text with %q", len(asked), last, test.told)
			}
			if got := messages[1]; got.Text != test.reply.Text || len(got.Calls) != len(test.reply.Calls) {
				t.Errorf("its own reply comes back as %+v, want %+v", got, test.reply)
			}
		})
	}
}

func TestThreeRepliesWithoutAProgramEndTheRun(t *testing.T) {
	no := model.Reply{Text: "I cannot."}
	script := &modeltest.Script{Replies: []model.Reply{no, no, modeltest.Fenced("x = 1"), no, no, no, modeltest.Fenced("done(1)")}}
	r, err := scripted(t, script, fenced, agents.Options{}).Run(t.Context(), agents.RunOptions{})
	if err != nil || r.Status != engine.Failed || len(script.Requests()) != 6 || r.Reason != "the model answered 3 times without a program that can be run: there was no program in the reply" {
		t.Errorf("after %d replies %s: %s, %v", len(script.Requests()), r.Status, r.Reason, err)
	}
}

func TestTheSameFailingProgramEndsTheRun(t *testing.T) {
	for _, test := range []struct {
		name     string
		programs []string
		asked    int
	}{
		{"to the letter", []string{"fail(\"a\")", "fail(\"a\")", "fail(\"a\")", "done(1)"}, 3},
		{"with other blanks and comments", []string{"fail(\"a\")", "# again\n\nfail( \"a\" )  # once more", "fail(\"a\" )\r\n\n#", "done(1)"}, 3},
		{"with others in between", []string{"fail(\"a\")", "fail(\"b\")", "fail(\"a\")", "fail(\"b\")", "fail(\"a\")", "done(1)"}, 5},
		{"with another text", []string{"fail(\"a\")", "fail(\"a \")", "fail(\"#a\")", "done(1)"}, 4},
		{"that cannot be read", []string{"x = (", "x = (  ", "x =(", "done(1)"}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := &modeltest.Script{}
			for _, p := range test.programs {
				script.Replies = append(script.Replies, modeltest.Fenced(p))
			}
			r, err := scripted(t, script, fenced, agents.Options{}).Run(t.Context(), agents.RunOptions{})
			ended := strings.HasPrefix(r.Reason, "the model wrote the same failing program 3 times: ")
			if err != nil || len(script.Requests()) != test.asked || ended != (test.asked < len(test.programs)) {
				t.Errorf("after %d replies %s: %s, %v, want %d replies", len(script.Requests()), r.Status, r.Reason, err, test.asked)
			}
		})
	}
}

// asking is a tool that asks a model of its own, paid by the run.
func asking(m model.Model) *builtins.Tool {
	return &builtins.Tool{
		Name: "oracle.ask", Effects: builtins.Read, Label: builtins.Source{Class: label.New(label.Internal, label.Public(), nil)},
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			own := model.PurseOf(ctx).Child(model.Budget{})
			defer func() {
				s := own.Spent()
				in.Spend(builtins.Spent{In: s.In, Out: s.Out, Cached: s.Cached, Cost: int64(s.Cost), Calls: s.Calls})
			}()
			r, err := own.Wrap(m).Generate(ctx, model.Request{Messages: []model.Message{{Role: model.User, Text: "?"}}})
			return r.Text, err
		},
	}
}

// A run is paid by one purse, whoever asked; a reply that is a call is recorded, gone over again and gone on with as a fenced one is, and
// is paid again as it was.
func TestARunIsGoneOverAgainInBothStyles(t *testing.T) {
	for _, style := range []string{fenced, called} {
		t.Run(style, func(t *testing.T) {
			reply := func(program string) model.Reply {
				r := modeltest.Fenced(program)
				if style == called {
					r = modeltest.Called("call-1", program)
				}
				r.Cost, r.Usage.Cached = 7, 40
				return r
			}
			answers := []model.Reply{reply("x = oracle.ask()\nprint(x)"), reply("done(x + \"!\")")}
			oracle := &modeltest.Script{Replies: []model.Reply{{Text: "yes", Usage: model.Usage{In: 3, Out: 4, Cached: 1}, Cost: 5}}}
			store := journal.NewMemory()
			run := func(m model.Model) *agents.Agent {
				return scripted(t, m, style+"\n  tools: [{use: oracle}]", agents.Options{Store: store, Tools: []*builtins.Tool{asking(oracle)}})
			}
			broken := errors.New("the model's server is gone")
			first := &modeltest.Script{Replies: answers[:1], Err: broken}
			stops := &stopping{Store: store, left: -1}
			agent := scripted(t, first, style+"\n  tools: [{use: oracle}]", agents.Options{Store: stops, Tools: []*builtins.Tool{asking(oracle)},
				Watch: func(e journal.Event) {
					if e.Type == journal.Observation {
						stops.left = 0
					}
				}})
			if _, err := agent.Run(t.Context(), agents.RunOptions{ID: "r"}); !errors.Is(err, errStopped) {
				t.Fatalf("got %v, want that the run is broken off", err)
			}
			second := &modeltest.Script{Replies: answers[1:]}
			r, err := run(second).Resume(t.Context(), engine.Again{Run: "r"})
			if err != nil || r.Status != engine.Done || r.Answer.Str != "yes!" {
				t.Fatalf("%+v, %v", r, err)
			}
			want := model.Spent{Usage: model.Usage{In: 203, Out: 24, Cached: 81}, Cost: 19, Calls: 3}
			if r.Spent != want {
				t.Errorf("spent %+v, want %+v", r.Spent, want)
			}
			if n := len(oracle.Requests()); n != 1 {
				t.Errorf("the oracle was asked %d times, want once", n)
			}
			messages := second.Requests()[0].Messages
			if len(second.Requests()) != 1 || len(messages) != 3 || fmt.Sprint(messages[1]) != fmt.Sprint(model.Message{Role: model.Assistant, Text: answers[0].Text, Calls: answers[0].Calls}) {
				t.Errorf("gone on with %d requests, of which the first is %+v", len(second.Requests()), messages)
			}
			again, err := run(&modeltest.Script{}).Replay(t.Context(), "r", nil)
			if err != nil || len(again.Differences) > 0 || !again.Ended {
				t.Errorf("gone over again: %+v, %v", again, err)
			}
		})
	}
}

// How a run ended without its model is found again when it is gone over.
func TestHowARunEndsWithoutItsModel(t *testing.T) {
	x := modeltest.Fenced("x = 1")
	for _, test := range []struct {
		name           string
		script         *modeltest.Script
		more           string
		status, reason string
	}{
		{"tokens are used up", &modeltest.Script{Replies: []model.Reply{x, x, x}}, fenced + "\n  limits: {tokens: 1500}", engine.Budget, "tokens"},
		{"it fails", &modeltest.Script{Replies: []model.Reply{x}, Err: errors.New("no route to the model")}, fenced, engine.Failed, "no route to the model"},
		{"turns are used up", &modeltest.Script{Replies: []model.Reply{x, x}}, fenced + "\n  limits: {turns: 2}", engine.Budget, "2 turns used up without done(value)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := range test.script.Replies {
				test.script.Replies[i].Usage = model.Usage{In: 1000, Out: 10}
			}
			store := journal.NewMemory()
			a := scripted(t, test.script, test.more, agents.Options{Store: store})
			r, err := a.Run(t.Context(), agents.RunOptions{ID: "r"})
			if err != nil || r.Status != test.status || !strings.Contains(r.Reason, test.reason) {
				t.Fatalf("%s: %s, %v, want %s: …%s…", r.Status, r.Reason, err, test.status, test.reason)
			}
			again, err := a.Replay(t.Context(), "r", nil)
			if err != nil || len(again.Differences) > 0 || !again.Ended {
				t.Errorf("gone over again: %+v, %v", again, err)
			}
		})
	}
}

func TestProgressIsTold(t *testing.T) {
	script := &modeltest.Script{Replies: []model.Reply{modeltest.Fenced("x = 1"), modeltest.Fenced("done(x)")}}
	var told []agents.Progress
	a := scripted(t, script, fenced, agents.Options{Progress: func(p agents.Progress) { told = append(told, p) }})
	r, err := a.Run(t.Context(), agents.RunOptions{})
	if err != nil || len(told) != 2 {
		t.Fatalf("%+v, told %d times, %v", r, len(told), err)
	}
	if p := told[1]; p.Turn != 2 || p.Run != r.Run || p.Text != script.Replies[1].Text || p.Spent.Calls != 1 || p.Label.Trust() != label.User {
		t.Errorf("told %+v", p)
	}
}
