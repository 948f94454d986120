package rego

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"callgate/spec"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
)

const (
	maxBundle      = 32 << 20 // bytes, unpacked, all files together
	maxBundleFiles = 10_000
)

// bundle reads a policy's bundle: its modules are the policy's, its data stands at the root of data.
func (l *loader) bundle(p *spec.Policy) {
	ref := p.Rego.Bundle
	b, err := readBundle(ref.Path, p.Rego.Verify)
	if err != nil {
		l.fail(ref.Pos, "bundle %s: %v", ref.Path, err)
		return
	}
	for _, m := range b.Modules {
		path := filepath.Join(ref.Path, strings.TrimPrefix(m.Path, "/"))
		module, err := ast.ParseModuleWithOpts(path, string(m.Raw), parserOptions())
		l.module(p, path, parsed{text: string(m.Raw), module: module, wrong: err})
	}
	for name, v := range b.Data {
		if name == "callgate" {
			l.fail(ref.Pos, "bundle %s: data.callgate is not for bundles", ref.Path)
			continue
		}
		l.mount(ref.Pos, name, v)
	}
}

// readBundle reads a folder or a .tar.gz, and verifies its signature as OPA does: one that is signed needs a
// key, and with a key one that is not signed is refused.
func readBundle(path string, v *spec.Verify) (*bundle.Bundle, error) {
	verify, err := verification(v)
	if err != nil {
		return nil, err
	}
	loader, err := bundleLoader(path)
	if err != nil {
		return nil, err
	}
	r := bundle.NewCustomReader(loader).WithCapabilities(Capabilities()).WithSizeLimitBytes(maxModule).
		WithProcessAnnotations(true).WithRegoVersion(parserOptions().RegoVersion).WithBundleVerificationConfig(verify)
	b, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "bundle "))
	}
	if len(b.WasmModules) > 0 || len(b.PlanModules) > 0 {
		return nil, errors.New("got compiled modules, want .rego")
	}
	return &b, nil
}

func bundleLoader(path string) (bundle.DirectoryLoader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.New("no such file or folder")
	}
	if info.IsDir() {
		if err := measureFolder(path); err != nil {
			return nil, err
		}
		return bundle.NewDirectoryLoader(path), nil
	}
	if info.Size() > maxBundle {
		return nil, fmt.Errorf("got %d bytes, want at most %d", info.Size(), maxBundle)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := measureArchive(raw); err != nil {
		return nil, err
	}
	return bundle.NewTarballLoader(bytes.NewReader(raw)), nil
}

func measureFolder(path string) error {
	var bytes int64
	files := 0
	return filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return tooLarge(files, bytes)
	})
}

func measureArchive(raw []byte) error {
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("want a folder or a .tar.gz: %w", err)
	}
	limited := &io.LimitedReader{R: z, N: maxBundle + 1}
	t := tar.NewReader(limited)
	for files := 1; ; files++ {
		_, err := t.Next()
		if limited.N <= 0 {
			return tooLarge(files, maxBundle+1)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not a .tar.gz: %w", err)
		}
		if err := tooLarge(files, 0); err != nil {
			return err
		}
	}
}

func tooLarge(files int, bytes int64) error {
	if files > maxBundleFiles {
		return fmt.Errorf("got more than %d files", maxBundleFiles)
	}
	if bytes > maxBundle {
		return fmt.Errorf("got more than %d bytes unpacked", maxBundle)
	}
	return nil
}

func verification(v *spec.Verify) (*bundle.VerificationConfig, error) {
	if v == nil {
		return nil, nil
	}
	key, err := os.ReadFile(v.Key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	id, algorithm := v.KeyID, v.Algorithm
	if id == "" {
		id = "default"
	}
	if algorithm == "" {
		algorithm = "RS256"
	}
	keys := map[string]*bundle.KeyConfig{id: {Key: string(key), Algorithm: algorithm, Scope: v.Scope}}
	return bundle.NewVerificationConfig(keys, id, v.Scope, nil), nil
}
