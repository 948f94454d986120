package model_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
)

// FuzzStreams has servers send anything: there is a reply that is whole, or an error; and the key is in neither.
func FuzzStreams(f *testing.F) {
	a := &modeltest.Asked{Protocol: "openai"}
	b := &modeltest.Asked{Protocol: "anthropic"}
	for _, r := range []model.Reply{good, modeltest.Called("a", "done(1)"), {Text: "x", Stop: model.StopLength}, {Text: modeltest.Key}} {
		for _, asked := range []*modeltest.Asked{a, b} {
			text := ""
			for _, e := range modeltest.Events(asked, r) {
				text += e + "\n\n"
			}
			f.Add(text)
		}
	}
	f.Add(`data: {"error": {"message": "` + modeltest.Key + `"}}` + "\n\n")
	f.Add(`data: {"type": "error", "error": {"message": "` + modeltest.Key + `"}}` + "\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, provider := range providers {
			s := modeltest.Serve(t, nil, func(w http.ResponseWriter, a *modeltest.Asked) { sse(text)(w, a) })
			cfg := s.Config(provider)
			cfg.Attempts = 1
			m, err := model.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := m.Generate(t.Context(), ask("go"))
			m.Close()
			if _, ok := errors.AsType[*model.Error](err); err != nil && !ok {
				t.Errorf("%s: %v is no error of a model", provider, err)
			}
			if err != nil && (reply.Text != "" || reply.Calls != nil) || err == nil && reply.Text == "" && reply.Calls == nil && reply.Stop == "" {
				t.Errorf("%s: %+v, %v", provider, reply, err)
			}
			if leaks(reply, err) {
				t.Errorf("%s: the key is in %+v, %v", provider, reply, err)
			}
		}
	})
}

// FuzzRecordings reads anything as a recording: it can be played, or there is an error with its place.
func FuzzRecordings(f *testing.F) {
	f.Add("## turn 1\n\n> | go\n> tokens: 5 in, 7 out\n\nx\n\n> call: run a\n\n```starlark\ndone(1)\n```\n")
	f.Add("> reply: tool\n\n## system\n\n> | be kind\n\n## turn 1\n> said: a\n> stop: length\n> cost: 1.5\n")
	f.Add("## turn 1\n> expect: x\n````\n```\n````\n## turn 2\ny")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "r.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, bad := model.LoadRecording(path)
		if (r == nil) == (len(bad) == 0) {
			t.Fatalf("%v, %v", r, bad)
		}
		if r == nil {
			return
		}
		reply, err := r.Generate(t.Context(), ask("go"))
		if _, ok := errors.AsType[*model.RecordingError](err); err != nil && !ok {
			t.Error(err)
		}
		if err != nil {
			return
		}
		again, err := model.Record(path+"2", "", r.Style(), "")
		if err != nil {
			t.Fatal(err)
		}
		again.Turn("go", reply.Written())
		if err := again.Close(); err != nil {
			return // such as an id of a call with odd blanks
		}
		played, bad := model.LoadRecording(path + "2")
		if bad != nil {
			t.Fatalf("%v of %+v", bad, reply)
		}
		if got, err := played.Generate(t.Context(), ask("go")); err != nil || got.Text != reply.Written().Text || len(got.Calls) != len(reply.Calls) {
			t.Errorf("%+v, %v, want %+v", got, err, reply)
		}
	})
}
