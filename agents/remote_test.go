package agents_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/agents"
	"callgate/agents/model"
	"callgate/agents/model/modeltest"
	"callgate/engine"
	"callgate/engine/journal"
	"callgate/spec"
)

// served builds an agent whose model is served by a test server; more goes into its model, rest into its spec.
func served(t *testing.T, s *modeltest.Server, provider, more, rest string, o agents.Options) *agents.Agent {
	t.Helper()
	t.Setenv("TEST_KEY", modeltest.Key)
	dir := folder(t, map[string]string{
		"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], principal: {sub: ana@corp.example}}\n",
		"agent.yaml": fmt.Sprintf("apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: served}\nspec:\n  model: {provider: %s, name: test-model, baseURL: %q, key: {env: TEST_KEY}%s}\n"+
			"  inputs: [{name: task, trust: user, readers: [\"*\"], default: go}]\n%s", provider, s.Config(provider).BaseURL, more, rest),
	})
	p, problems := spec.Load(dir, "")
	a, wrong := agents.Build(t.Context(), p, o)
	if problems = append(problems, wrong...); a == nil {
		t.Fatal(problems)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// A run with a server's model, in both protocols and styles. Its key is in none of the bytes that it leaves behind, even where the server sends it back.
func TestTheKeyIsNowhere(t *testing.T) {
	for _, provider := range []string{"openai", "anthropic"} {
		for _, style := range []string{"fenced", "tool"} {
			t.Run(provider+"/"+style, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "runs.db")
				store, err := journal.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				turns := modeltest.Turns(modeltest.Fenced("x = 40\nprint(x)"), modeltest.Fenced("fail(\"once\")"), modeltest.Fenced("done(x + 2)"))
				s := modeltest.Serve(t, turns, modeltest.Fail(500, "api_error", "oh "+modeltest.Key), nil, nil, nil, modeltest.Fail(400, "x", "you sent "+modeltest.Key),
					modeltest.Fail(401, "authentication_error", "bad key "+modeltest.Key), modeltest.Says(model.Reply{Text: modeltest.Key}))
				var left strings.Builder // all that is shown, printed or returned
				a := served(t, s, provider, ", reply: "+style+", price: {in: 3, out: 15}", "  limits: {tokens: 100k, money: 1}\n", agents.Options{
					Store: store, Progress: func(p agents.Progress) { fmt.Fprintf(&left, "%+v\n", p) },
					Watch: func(e journal.Event) {
						b, err := json.Marshal(e)
						fmt.Fprintf(&left, "%s %s %v\n", b, e.Payload, err)
					},
				})
				fmt.Fprintf(&left, "%+v %#v\n", a, a.Spec)
				for i, want := range []string{engine.Done, engine.Failed, engine.Failed, engine.Failed} {
					r, err := a.Run(t.Context(), agents.RunOptions{})
					if err != nil || r.Status != want || i == 0 && r.Answer.Int.Int64() != 42 {
						t.Fatalf("run %d: %+v, %v", i, r, err)
					}
					if i == 0 && (r.Spent.Calls != 3 || r.Spent.Cost == 0 || r.Spent.In < 300) {
						t.Errorf("spent %+v", r.Spent)
					}
					fmt.Fprintf(&left, "%+v %#v %v\n", r, r, r.Model)
				}
				for _, asked := range s.Asked() {
					left.Write(asked.Body) // prompts and programs
				}
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				files, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					b, err := os.ReadFile(filepath.Join(dir, f.Name()))
					if err != nil {
						t.Fatal(err)
					}
					left.Write(b)
				}
				all := left.String()
				for _, part := range []string{modeltest.Key, modeltest.Key[:16], modeltest.Key[16:], "\"YXV0aG"} {
					if at := strings.Index(all, part); at >= 0 {
						t.Errorf("%q is in …%.200s…", part, all[max(0, at-80):])
					}
				}
				if !strings.Contains(all, "done(x + 2)") || !strings.Contains(all, "you sent [key]") {
					t.Error("what was to be looked at is not there")
				}
			})
		}
	}
}

func TestModelsThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct{ name, spec, want string }{
		{"money without a price", "model: {provider: openai, name: m}\n  limits: {money: 2}", "limits.money: nothing says what a token costs"},
		{"a server elsewhere without TLS", "model: {provider: openai, name: m, baseURL: \"http://gpu.corp.example/v1\"}", "want https://"},
	} {
		dir := folder(t, map[string]string{"agent.yaml": "apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  " + test.spec + "\n"})
		p, _ := spec.Load(dir, "")
		a, problems := agents.Build(t.Context(), p, agents.Options{})
		if a != nil || !strings.Contains(fmt.Sprint(problems), test.want) || !strings.Contains(fmt.Sprint(problems), "agent.yaml:5:") {
			t.Errorf("%s: got %v, want %s", test.name, problems, test.want)
		}
	}
}

// Without its key a run does not begin.
func TestARunWithoutItsKey(t *testing.T) {
	s := modeltest.Serve(t, nil)
	store := journal.NewMemory()
	a := served(t, s, "openai", "", "", agents.Options{Store: store})
	t.Setenv("TEST_KEY", "")
	_, err := a.Run(t.Context(), agents.RunOptions{})
	runs, wrong := store.Runs(t.Context(), 0)
	if err == nil || !strings.Contains(err.Error(), "environment variable TEST_KEY: is not set") || wrong != nil || len(runs) != 0 || len(s.Asked()) != 0 {
		t.Errorf("got %v, %d runs, %v", err, len(runs), wrong)
	}
	// … nor without that of a model which a tool asks.
	a = scripted(t, &modeltest.Script{}, fenced+"\n  tools: [{use: llm, model: {provider: anthropic, name: m, key: {env: TEST_KEY}}}]", agents.Options{Store: store})
	if _, err := a.Run(t.Context(), agents.RunOptions{}); err == nil || !strings.Contains(err.Error(), "environment variable TEST_KEY: is not set") {
		t.Errorf("a tool's model: got %v", err)
	}
}

// Whoever runs the model is an audience: policies say what it is shown.
func TestWhatAProviderIsShown(t *testing.T) {
	for provider, want := range map[string]string{"openai": "hidden", "anthropic": "printed: 4711"} {
		s := modeltest.Serve(t, modeltest.Turns(modeltest.Fenced("print(4711)"), modeltest.Fenced("done(1)")))
		t.Setenv("TEST_KEY", modeltest.Key)
		dir := folder(t, map[string]string{
			"callgate.yaml": "apiVersion: callgate/v1\nkind: Host\nspec: {library: [base], policies: [./policies], principal: {sub: ana@corp.example}}\n",
			"policies/p.yaml": "apiVersion: callgate/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  match: {kinds: [observe]}\n  cel:\n    rules:\n" +
				"    - {id: p.not-there, when: \"call.args.provider == 'openai'\", action: deny}\n",
			"agent.yaml": fmt.Sprintf("apiVersion: callgate/v1\nkind: Agent\nmetadata: {name: served}\nspec:\n  model: {provider: %s, name: m, baseURL: %q, key: {env: TEST_KEY}}\n", provider, s.Config(provider).BaseURL),
		})
		p, problems := spec.Load(dir, "")
		a, wrong := agents.Build(t.Context(), p, agents.Options{})
		if a == nil {
			t.Fatal(problems, wrong)
		}
		r, err := a.Run(t.Context(), agents.RunOptions{})
		a.Close()
		messages := s.Asked()[len(s.Asked())-1].Request.Messages
		if last := messages[len(messages)-1].Text; err != nil || r.Status != engine.Done || !strings.Contains(last, want) || strings.Contains(last, "4711") != (provider == "anthropic") {
			t.Errorf("%s: %s, %v, shown %q, want %q", provider, r.Status, err, last, want)
		}
	}
}
