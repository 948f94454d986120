package agents_test

import (
	"os"
	"testing"

	"callgate/engine/gate"
)

var approveAll = gate.ApproveAll{By: "the test"}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	writeText(t, path, readText(t, path)+text)
}
