package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/policies"
	"callgate/policies/root"
	"callgate/spec"
)

// How often a watcher looks, unless a test says otherwise.
const (
	lookEvery = 50 * time.Millisecond  // whether sizes and times of files have changed
	readEvery = time.Second            // whether what is in them has, whatever their times say
	stillFor  = 100 * time.Millisecond // how long files must have been left alone, so that they are whole
)

// watcher is the policies of an agent that may change while it runs. Before a call is decided it looks whether the files that they
// were read from have changed, reads them again, and replaces all of the rules at once. New ones that have problems are refused: the
// old ones go on deciding. It is safe for concurrent use: while one call waits for new rules to be read, others are decided
// under the old ones.
type watcher struct {
	root  *root.Root
	agent string
	tools []policies.ToolSchema
	read  func() (*spec.Project, []spec.Problem)
	told  func([]spec.Problem)
	host  string // the file that says which policies there are; "" if none does

	every, reads, still time.Duration

	last atomic.Pointer[policies.Reload]

	mu     sync.Mutex // guards what follows
	next   time.Time  // to look
	deep   time.Time  // to read
	list   []string   // files and folders
	stamps []stamp    // of the list; nil: read whatever they are
	known  string     // digest of the files whose rules were taken up or refused
	seen   string     // the last digest that was another
	since  time.Time  // when it was first seen
}

// watch watches the files of a project whose policies are in the root.
func watch(p *spec.Project, r *root.Root, tools []policies.ToolSchema, o Options) *watcher {
	w := &watcher{
		root: r, agent: p.Agent.Meta.Name, tools: tools, read: o.Reread, told: o.Told, host: hostFile(p), list: watched(p),
		every: lookEvery, reads: readEvery, still: stillFor,
	}
	w.last.Store(&policies.Reload{})
	w.stamps = stampsOf(w.list)
	if time.Since(newest(w.stamps)) > time.Second { // else they may have been read before they changed
		w.known = digestOf(w.list)
	}
	return w
}

// Decide implements [policies.PDP].
func (w *watcher) Decide(ctx context.Context, r *policies.Request) (policies.Decision, error) {
	w.look(ctx)
	return w.root.Decide(ctx, r)
}

// Revision implements [policies.PDP].
func (w *watcher) Revision() string { return w.root.Revision() }

// LastReload implements [policies.Reloader].
func (w *watcher) LastReload() policies.Reload { return *w.last.Load() }

// look reads the files again if they have changed and are still.
func (w *watcher) look(ctx context.Context) {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	now := time.Now()
	if now.Before(w.next) {
		return
	}
	w.next = now.Add(w.every)
	stamps := stampsOf(w.list)
	if now.Before(w.deep) && slices.EqualFunc(stamps, w.stamps, stamp.equal) {
		return
	}
	digest := digestOf(w.list)
	w.stamps, w.deep = stamps, now.Add(w.reads)
	if digest == w.known {
		return
	}
	if digest != w.seen {
		w.seen, w.since = digest, now
	}
	if now.Sub(w.since) < w.still && now.Sub(newest(stamps)) < w.still {
		w.stamps = nil
		return
	}
	w.reload(ctx, digest)
}

// reload takes up what the files hold now, once that can be read twice.
func (w *watcher) reload(ctx context.Context, before string) {
	for range 3 {
		p, problems := w.read()
		list := watched(p)
		after := digestOf(list)
		if after != before || !slices.Equal(list, w.list) {
			w.list, before = list, after
			continue
		}
		w.known, w.stamps = after, stampsOf(list)
		w.replace(ctx, p, problems)
		return
	}
	w.stamps = nil // they are being written: at the next call
}

// replace replaces the rules, or says why not.
func (w *watcher) replace(ctx context.Context, p *spec.Project, problems []spec.Problem) {
	if file := hostFile(p); file != w.host && !spec.Fatal(problems) {
		text := "it said which policies there are, and does no longer"
		if w.host == "" {
			text = "it was not there when the agent began"
		}
		problems = append(problems, spec.Problem{Pos: spec.Position{File: cmp.Or(w.host, file)}, Text: text})
	}
	before := w.root.Revision()
	if !spec.Fatal(problems) {
		more := w.root.Reload(context.WithoutCancel(ctx), root.Config{Host: p.Host, Agent: w.agent, Policies: p.Policies, Tools: w.tools})
		problems = spec.SortProblems(append(problems, more...))
	}
	next := policies.Reload{Serial: w.LastReload().Serial + 1}
	if spec.Fatal(problems) {
		for _, p := range problems {
			if !p.Warn {
				next.Problems = append(next.Problems, p.String())
			}
		}
	} else if w.root.Revision() == before {
		return
	}
	w.last.Store(&next)
	if w.told != nil {
		w.told(problems)
	}
}

func hostFile(p *spec.Project) string {
	if p.Host == nil {
		return ""
	}
	return p.Host.File
}

// watched lists the files and folders that the policies of a project were read from, sorted.
func watched(p *spec.Project) []string {
	list := slices.Clone(p.Files)
	add := func(path string) {
		if path == "" {
			return
		}
		err := filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
			list = append(list, filepath.Clean(path))
			if err != nil || len(list) > maxWatched {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			list = append(list, path)
		}
	}
	for _, q := range p.Policies {
		if q.Rego == nil {
			continue
		}
		for _, m := range q.Rego.Modules {
			add(m.Path)
		}
		add(q.Rego.Bundle.Path)
		if q.Rego.Verify != nil {
			add(q.Rego.Verify.Key)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxWatched bounds how many files are watched: more than any policy may have.
const maxWatched = 50_000

// stamp tells without reading it whether a file has changed; nearly always.
type stamp struct{ info fs.FileInfo } // nil: it is not there

func (s stamp) equal(t stamp) bool {
	if s.info == nil || t.info == nil {
		return s == t
	}
	return os.SameFile(s.info, t.info) && s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

func stampsOf(list []string) []stamp {
	out := make([]stamp, len(list))
	for i, path := range list {
		out[i].info, _ = os.Stat(path) // what cannot be looked at is not there
	}
	return out
}

// newest is when the last of the files changed.
func newest(stamps []stamp) (t time.Time) {
	for _, s := range stamps {
		if s.info != nil && s.info.ModTime().After(t) {
			t = s.info.ModTime()
		}
	}
	return t
}

// digestOf returns a digest of the files' texts, and of the names in folders that can be part of a policy.
func digestOf(list []string) string {
	h := sha256.New()
	size := func(kind byte, n int64) { h.Write(binary.AppendVarint([]byte{kind}, n)) }
	text := func(kind byte, s string) {
		size(kind, int64(len(s)))
		io.WriteString(h, s)
	}
	for _, path := range list {
		text('p', path)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			size('-', 0)
		case info.IsDir():
			entries, _ := os.ReadDir(path)
			for _, e := range entries {
				if e.IsDir() || slices.Contains(policyFiles, filepath.Ext(e.Name())) {
					text('e', e.Name())
				}
			}
		case info.Mode().IsRegular():
			size('t', info.Size())
			if f, err := os.Open(path); err == nil {
				io.CopyN(h, f, min(info.Size(), maxRead)) // of one that cannot be read the size must do
				f.Close()
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxRead is how much of a file is read to see whether it has changed, in bytes: what is larger is refused anyway.
const maxRead = 64 << 20

// policyFiles are the endings of the files that policies are made of. A link counts by its own name.
var policyFiles = []string{".yaml", ".yml", ".json", ".rego", ".manifest"}
