//go:build amd64 || arm64

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHierarchies finds where cgroups can be made in trees of folders that look like those of other machines.
func TestHierarchies(t *testing.T) {
	const both = "cpu memory pids\n"
	for _, test := range []struct {
		name   string
		own    string            // what /proc/self/cgroup says
		mounts string            // and mountinfo, of folders in the tree
		files  map[string]string // in the tree
		want   string
	}{
		{"version 1", "4:memory:/a\n3:pids:/\n2:cpu:/x\n", "1 1 0:1 / TREE/memory rw - cgroup cgroup rw,memory\n1 1 0:1 / TREE/pids rw - cgroup cgroup rw,pids\n", nil, "memory/a pids"},
		{"version 1, both in one", "4:memory,pids:/a\n", "1 1 0:1 / TREE/both rw,nosuid shared:3 - cgroup cgroup rw,memory,pids\n", nil, "both/a both/a"},
		{"version 1 within a container", "4:memory:/c/1\n3:pids:/c/1\n", "1 1 0:1 /c/1 TREE/memory rw - cgroup cgroup rw,memory\n1 1 0:1 /c/1 TREE/pids rw - cgroup cgroup rw,pids\n", nil, "memory pids"},
		{"version 1 that is mounted from elsewhere", "4:memory:/c/1\n3:pids:/c/1\n", "1 1 0:1 /d TREE/memory rw - cgroup cgroup rw,memory\n1 1 0:1 /d TREE/pids rw - cgroup cgroup rw,pids\n", nil, ""},
		{"version 1 without threads", "4:memory:/\n", "1 1 0:1 / TREE/memory rw - cgroup cgroup rw,memory\n", nil, ""},
		{"version 2, given to this cgroup", "0::/s\n", "1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n", map[string]string{"v2/s/cgroup.subtree_control": both}, "v2/s"},
		{"version 2, given to one above", "0::/s/app/term\n", "1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n",
			map[string]string{"v2/s/cgroup.subtree_control": both, "v2/s/app/cgroup.subtree_control": "pids\n", "v2/s/app/term/cgroup.subtree_control": "\n"}, "v2/s"},
		{"version 2, given to nobody", "0::/s\n", "1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n", map[string]string{"v2/s/cgroup.subtree_control": "cpu\n", "v2/cgroup.subtree_control": "\n"}, ""},
		{"version 2 that is not mounted", "0::/s\n", "1 1 0:1 / TREE/v2 rw - tmpfs tmpfs rw\n", map[string]string{"v2/s/cgroup.subtree_control": both}, ""},
		{"both versions, the controllers with 1", "4:memory:/\n3:pids:/\n0::/\n", "1 1 0:1 / TREE/memory rw - cgroup cgroup rw,memory\n1 1 0:1 / TREE/pids rw - cgroup cgroup rw,pids\n1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n",
			map[string]string{"v2/cgroup.subtree_control": "\n"}, "memory pids"},
		{"both versions, the controllers with 2", "5:cpu:/\n0::/\n", "1 1 0:1 / TREE/cpu rw - cgroup cgroup rw,cpu\n1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n",
			map[string]string{"v2/cgroup.subtree_control": both}, "v2"},
		{"both versions, a controller with each", "4:memory:/\n0::/\n", "1 1 0:1 / TREE/memory rw - cgroup cgroup rw,memory\n1 1 0:1 / TREE/v2 rw - cgroup2 cgroup2 rw\n",
			map[string]string{"v2/cgroup.subtree_control": "pids\n"}, ""},
		{"none", "", "", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := t.TempDir()
			for name, text := range test.files {
				fill(t, filepath.Join(tree, name), text)
			}
			var got []string
			for _, dir := range findHierarchies(test.own, strings.ReplaceAll(test.mounts, "TREE", tree)) {
				got = append(got, strings.TrimPrefix(dir, tree+"/"))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func fill(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLimitsOfCgroups writes limits to folders that have the files of each version. One that cannot be set is no limit.
func TestLimitsOfCgroups(t *testing.T) {
	for _, test := range []struct {
		name  string
		dirs  []string
		files map[string]string // what must be in each
		ok    bool
	}{
		{"version 1", []string{"m", "p"}, map[string]string{"m/memory.limit_in_bytes": "1000", "p/pids.max": "7"}, true},
		{"version 1, both in one", []string{"b", "b"}, map[string]string{"b/memory.limit_in_bytes": "1000", "b/pids.max": "7"}, true},
		{"version 1 without threads", []string{"m", "p"}, map[string]string{"m/memory.limit_in_bytes": "1000", "p/other": ""}, false},
		{"version 2", []string{"g"}, map[string]string{"g/memory.max": "1000", "g/pids.max": "7", "g/memory.swap.max": "0", "g/memory.oom.group": "1"}, true},
		{"version 2 without swap", []string{"g"}, map[string]string{"g/memory.max": "1000", "g/pids.max": "7"}, true},
		{"version 2 without memory", []string{"g"}, map[string]string{"g/pids.max": "7"}, false},
	} {
		dir := t.TempDir()
		g := &group{}
		for _, d := range test.dirs {
			g.dirs = append(g.dirs, filepath.Join(dir, d))
		}
		for name := range test.files {
			fill(t, filepath.Join(dir, name), "")
		}
		if ok := g.limit(Budget{Memory: 1000, Threads: 7}); ok != test.ok {
			t.Errorf("%s: got %v, want %v", test.name, ok, test.ok)
		}
		for name, want := range test.files {
			if b, err := os.ReadFile(filepath.Join(dir, name)); test.ok && string(b) != want {
				t.Errorf("%s: %s: got %q, %v, want %q", test.name, name, b, err, want)
			}
		}
	}
}

// TestCgroupsOfVersion2 puts a process into a real cgroup of version 2, which need not have controllers for that, and kills it there.
func TestCgroupsOfVersion2(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, top := hierarchy("0::/\n", string(mounts), "")
	dir := filepath.Join(top, "callgate-test")
	if top == "" || os.Mkdir(dir, 0o755) != nil {
		t.Skip("there is no cgroup file system of version 2 here that can be written")
	}
	g := &group{[]string{dir}}
	defer g.remove()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if !g.add(cmd.Process.Pid) {
		t.Skip("a process cannot be moved here")
	}
	g.kill()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("got %v", err)
	}
	g.remove()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the cgroup is left")
	}
	if g.add(os.Getpid()) || (*group)(nil).add(1) {
		t.Error("a process is in a cgroup that there is not")
	}
}
