package rego

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/policies/internal/sample"
	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/bundle"
)

var bundleFiles = map[string]string{
	"p.rego":      head + "deny contains \"a\" if data.limits.max == 5\n",
	"p_test.rego": "package callgate.test.p\nimport rego.v2\ntest_x if false\n",
	"data.json":   `{"limits": {"max": 5}}`,
}

func bundled(path string, v *spec.Verify) spec.Policy {
	return spec.Policy{Meta: spec.Meta{Name: "p"}, Rego: &spec.Rego{Bundle: spec.Ref{Path: path, Pos: spec.Position{File: "p.yaml", Line: 5, Column: 9}}, Verify: v}}
}

// archive writes a .tar.gz.
func archive(t testing.TB, files map[string]string) string {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: "/" + name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBundles(t *testing.T) {
	for name, path := range map[string]string{"a folder": write(t, bundleFiles), "an archive": archive(t, bundleFiles)} {
		e := newEngine(t, Config{Policies: []spec.Policy{bundled(path, nil)}})
		if got := ids(findings(t, e, sample.Call("mail.read"))); got != "deny a" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestBundlesThatAreRefused(t *testing.T) {
	with := func(name, text string) map[string]string {
		files := map[string]string{}
		for k, v := range bundleFiles {
			files[k] = v
		}
		files[name] = text
		return files
	}
	many := map[string]string{}
	for i := range maxBundleFiles + 1 {
		many[fmt.Sprint(i, ".txt")] = ""
	}
	notGzip := filepath.Join(t.TempDir(), "b.tar.gz")
	if err := os.WriteFile(notGzip, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"it is not there":            {"/no/such", "no such file or folder"},
		"it is no archive":           {notGzip, "want a folder or a .tar.gz"},
		"a bomb":                     {archive(t, with("zeros.json", strings.Repeat(" ", maxBundle+1))), "got more than"},
		"a folder that is huge":      {write(t, with("zeros.json", strings.Repeat(" ", maxBundle+1))), "got more than"},
		"very many files":            {archive(t, many), "got more than 10000 files"},
		"a module that is broken":    {archive(t, with("q.rego", "package x\nfoo {")), "q.rego:2"},
		"a module without rego.v2":   {archive(t, with("q.rego", "package callgate.policy.q\n")), "want import rego.v2"},
		"data that shadow callgate":  {archive(t, with("data.json", `{"callgate": {"tools": {}}}`)), "data.callgate is not for bundles"},
		"data that shadow params":    {archive(t, with("data.json", `{"params": 5}`)), "data.params: given twice"},
		"compiled code":              {archive(t, with("policy.wasm", "\x00asm")), "compiled modules"},
		"data that are no JSON":      {archive(t, with("data.json", "{")), "data.json"},
		"a signature and no key":     {archive(t, with(".signatures.json", `{"signatures": ["x.y.z"]}`)), "verification key not provided"},
		"a path that climbs outside": {archive(t, with("../../q.rego", head+"allow contains \"x\" if true\n")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, problems := New(Config{Policies: []spec.Policy{bundled(test.path, nil)}})
			if test.want == "" { // it is a name like any other: nothing is unpacked
				if e == nil {
					t.Errorf("got %v, want an engine", problems)
				}
				return
			}
			if e != nil || len(problems) == 0 || !strings.Contains(problems[0].String(), test.want) {
				t.Errorf("got %v, want a problem with %q", problems, test.want)
			}
		})
	}
}

func TestSignedBundles(t *testing.T) {
	private, public := keyPair(t)
	_, other := keyPair(t)
	signed := sign(t, write(t, bundleFiles), private)
	verify := func(key string) *spec.Verify { return &spec.Verify{Key: key, Algorithm: "ES256"} }

	e := newEngine(t, Config{Policies: []spec.Policy{bundled(signed, verify(public))}})
	if got := ids(findings(t, e, sample.Call("mail.read"))); got != "deny a" {
		t.Errorf("signed: got %q", got)
	}
	tampered := sign(t, write(t, bundleFiles), private)
	if err := os.WriteFile(filepath.Join(tampered, "data.json"), []byte(`{"limits": {"max": 6}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	added := sign(t, write(t, bundleFiles), private)
	if err := os.WriteFile(filepath.Join(added, "q.rego"), []byte(head+"allow contains \"x\" if true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]spec.Policy{
		"without a key":             bundled(signed, nil),
		"with another key":          bundled(signed, verify(other)),
		"with no such key":          bundled(signed, verify("/no/such.pem")),
		"data changed":              bundled(tampered, verify(public)),
		"a module added":            bundled(added, verify(public)),
		"not signed, and a key set": bundled(write(t, bundleFiles), verify(public)),
	} {
		if e, problems := New(Config{Policies: []spec.Policy{p}}); e != nil || len(problems) != 1 || problems[0].Pos.Line != 5 {
			t.Errorf("%s: got %v, want a problem at the bundle's place", name, problems)
		}
	}
}

func keyPair(t testing.TB) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	priv, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"private.pem": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: priv})),
		"public.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})),
	})
	return filepath.Join(dir, "private.pem"), filepath.Join(dir, "public.pem")
}

// sign signs a folder as `opa sign` does.
func sign(t testing.TB, dir, key string) string {
	t.Helper()
	pem, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	hasher, err := bundle.NewSignatureHasher(bundle.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var files []bundle.FileInfo
	for name, text := range bundleFiles {
		var content any = []byte(text)
		if strings.HasSuffix(name, ".json") { // structured files are hashed by what they mean
			if err := json.Unmarshal([]byte(text), &content); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := hasher.HashFile(content)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, bundle.NewFile(name, hex.EncodeToString(sum), string(bundle.SHA256)))
	}
	token, err := bundle.GenerateSignedToken(files, bundle.NewSigningConfig(string(pem), "ES256", ""), "default")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"signatures": [%q]}`, token)
	if err := os.WriteFile(filepath.Join(dir, ".signatures.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
