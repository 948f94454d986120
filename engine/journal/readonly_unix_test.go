//go:build unix

package journal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFolderThatCannotBeWritten opens journals in another process, since nothing is
// forbidden to root.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	top, err := os.MkdirTemp("", "journal")
	if err != nil {
		t.Fatal(err)
	}
	empty, full, self := filepath.Join(top, "empty"), filepath.Join(top, "full"), filepath.Join(top, "self")
	t.Cleanup(func() {
		if err := errors.Join(os.Chmod(empty, 0o700), os.Chmod(full, 0o700), os.RemoveAll(top)); err != nil {
			t.Error(err)
		}
	})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(top, 0o755), os.Mkdir(empty, 0o755), os.Mkdir(full, 0o755), os.WriteFile(self, binary, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(full, "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	beginTest(t, s, "x")
	err = errors.Join(s.Close(), os.Chmod(filepath.Join(full, "journal.db"), 0o444), os.Chmod(full, 0o555), os.Chmod(empty, 0o555))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(empty, "journal.db"): "permission denied",
		filepath.Join(full, "journal.db"):  "make the file and its folder",
	} {
		child := exec.Command(self)
		child.Env = append(os.Environ(), openFile+"="+path)
		if os.Getuid() == 0 {
			child.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := child.CombinedOutput()
		if got := string(out); err != nil || !strings.Contains(got, want) || !strings.Contains(got, path) || strings.Contains(got, "panic") {
			t.Errorf("%s: got %q, %v; want an error with %q", path, got, err, want)
		}
	}
}
