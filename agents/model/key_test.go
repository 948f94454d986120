package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"callgate/agents/model"
	"callgate/agents/model/modeltest"
)

const secret = "sk-verysecret-42"

func TestAKeyIsNeverWritten(t *testing.T) {
	k, err := model.NewKey(" " + secret + "\n")
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		K      model.Key
		P      *model.Key
		hidden model.Key
		In     []any
	}
	h := holder{k, &k, k, []any{k, map[string]model.Key{"a": k}}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		for _, v := range []any{k, &k, h, &h, []model.Key{k}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "verysecret") || strings.Contains(got, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T: %s", verb, v, got)
			}
		}
	}
	b, err := json.Marshal(h)
	if err != nil || strings.Contains(string(b), "verysecret") || !strings.Contains(string(b), "[key]") {
		t.Errorf("%s, %v", b, err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "k", k, "h", h)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "k", k)
	if strings.Contains(log.String(), "verysecret") {
		t.Error(log.String())
	}
}

func TestWhereKeysAre(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("callgate", "ana", secret); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := func(v string) model.KeySource {
		return model.KeySource{Env: "K", Getenv: func(string) string { return v }}
	}
	for _, test := range []struct {
		name   string
		source model.KeySource
		want   string
	}{
		{"nowhere", model.KeySource{}, ""},
		{"the environment", env(secret), ""},
		{"not set", env(""), "environment variable K: is not set"},
		{"two lines", env("a\nb"), "holds no key: want one word"},
		{"not ASCII", env("schlüssel"), "holds no key: want one word"},
		{"too long", env(strings.Repeat("x", 9000)), "got 9000 bytes"},
		{"a file", model.KeySource{File: file("good", secret+"\n", 0o600)}, ""},
		{"a file for reading alone", model.KeySource{File: file("readonly", secret, 0o400)}, ""},
		{"a file that others read", model.KeySource{File: file("open", secret, 0o640)}, "got mode 0640, want 0600"},
		{"an empty file", model.KeySource{File: file("empty", "\n", 0o600)}, "it is empty"},
		{"a key for something else", model.KeySource{File: file("pem", "-----BEGIN PRIVATE KEY-----\nabc\n", 0o600)}, "want one word"},
		{"no file", model.KeySource{File: filepath.Join(dir, "none")}, "no such file"},
		{"a folder", model.KeySource{File: dir}, "is no file"},
		{"the keyring", model.KeySource{Keyring: "callgate/ana"}, ""},
		{"not in the keyring", model.KeySource{Keyring: "callgate/bo"}, "keyring entry callgate/bo: is not there"},
	} {
		if runtime.GOOS == "windows" && strings.Contains(test.want, "mode") {
			continue
		}
		_, err := test.source.Load(t.Context())
		bad, ok := errors.AsType[*model.KeyError](err)
		if (err == nil) != (test.want == "") || err != nil && (!ok || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret) || bad.Hint == "" && test.name != "a folder") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	keyring.MockInitWithError(errors.New("locked"))
	if _, err := (model.KeySource{Keyring: "callgate/ana"}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be read: locked") {
		t.Errorf("got %v", err)
	}
}

// The key of a provider goes to that provider: to another server only if it was said so.
func TestNoKeyGoesWhereItWasNotMeant(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", modeltest.Key)
	t.Setenv("ANTHROPIC_API_KEY", modeltest.Key)
	for _, provider := range providers {
		s := modeltest.Serve(t, nil)
		cfg := s.Config(provider)
		cfg.Key = model.KeySource{}
		m, err := model.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask("go"))
		if err == nil || !strings.Contains(err.Error(), "401") || !strings.Contains(err.Error(), "hint: no key was sent: ") {
			t.Errorf("got %v, want that the server misses the key", err)
		}
		for name, values := range s.Asked()[0].Header {
			if strings.Contains(fmt.Sprint(name, values), modeltest.Key) {
				t.Errorf("%s: %v", name, values)
			}
		}
	}
	m, err := model.New(model.Config{Provider: "openai", Name: "m"})
	if err == nil {
		err = m.Ready(t.Context())
	}
	t.Setenv("OPENAI_API_KEY", "")
	n, _ := model.New(model.Config{Provider: "openai", Name: "m"})
	if missing := n.Ready(t.Context()); err != nil || missing == nil || !strings.Contains(missing.Error(), "environment variable OPENAI_API_KEY: is not set") {
		t.Errorf("the provider's own: %v and %v, want none, and that it is not set", err, missing)
	}
}

// leaks reports whether the test server's key is in a reply or an error.
func leaks(r model.Reply, err error) bool {
	return strings.Contains(fmt.Sprintf("%+v %v", r, err), modeltest.Key)
}
