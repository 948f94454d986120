package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"callgate/builtins/std"
	"callgate/engine/label"
	"callgate/spec"
)

// placesFolder is the folder, in a state folder, where each agent that has used it says what its tools reach, a file each: one place has
// one label for all of them.
const placesFolder = "places"

// claims are what one agent's tools reach.
type claims struct {
	Agent  string  `json:"agent"`
	File   string  `json:"file"` // of the agent
	Places []claim `json:"places"`
}

// claim is a [reach] on file.
type claim struct {
	By    string      `json:"by"` // the toolset
	Name  string      `json:"name"`
	Path  string      `json:"path"`
	Write bool        `json:"write"`
	Label label.Label `json:"label"`
}

// shared puts down what the agent's tools reach, and reports where agents that have used the state folder before see it
// under other labels: what one of them is told by a stranger would come back trusted to the other. An agent puts itself
// down before it looks at the others, so that of two that begin at once one sees the other at least.
func (a *Agent) shared(p *spec.Project, all []reach) (problems []spec.Problem) {
	if a.opts.State == "" || len(all) == 0 {
		return nil
	}
	fail := func(err error) []spec.Problem {
		return []spec.Problem{{Pos: p.Agent.Meta.Pos, Text: fmt.Sprintf("state folder: %v", err)}}
	}
	mine := claims{Agent: p.Agent.Meta.Name, File: real(p.Agent.File)}
	for _, r := range all {
		mine.Places = append(mine.Places, claim{r.by, r.Name, r.Path, r.Write, r.Label.WithoutSources()})
	}
	dir := filepath.Join(a.opts.State, placesFolder)
	sum := sha256.Sum256([]byte(mine.Agent + "\x00" + mine.File))
	file := filepath.Join(dir, hex.EncodeToString(sum[:8])+".json")
	before, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return fail(err)
	}
	var old claims
	if before != nil {
		if old, err = readClaims(file, before); err != nil {
			return fail(err)
		}
	}
	for _, c := range old.Places { // what was written stays where it is
		if c.Write && !slices.ContainsFunc(mine.Places, c.equal) {
			mine.Places = append(mine.Places, c)
		}
	}
	text, err := json.MarshalIndent(mine, "", "  ")
	if err == nil {
		err = replace(file, text)
	}
	if err != nil {
		return fail(err)
	}
	others, err := readAllClaims(dir)
	if err != nil {
		problems = fail(err)
	}
	for _, other := range others {
		for _, x := range other.Places {
			for _, y := range all {
				if other.Agent == mine.Agent && other.File == mine.File && x.equal(claim{y.by, y.Name, y.Path, y.Write, y.Label}) {
					continue
				}
				of := std.Place{Name: x.Name, Path: x.Path, Label: x.Label, Write: x.Write}
				if !clash(of, y.Place) && !clash(y.Place, of) {
					continue
				}
				problems = append(problems, spec.Problem{Pos: y.pos,
					Text: fmt.Sprintf("%s: %s as %s; agent %q, which has used this state folder, has %s there as %s", y.by, y.Name, y.Label, other.Agent, x.By, x.Label),
					Hint: fmt.Sprintf("give both the same trust, readers and tags, or name another state folder (the other agent is %s; what it reached is in %s)", other.File, dir)})
			}
		}
	}
	if len(problems) > 0 { // it does not run: it has reached nothing
		if before != nil {
			err = replace(file, before)
		} else {
			err = os.Remove(file)
		}
		if err != nil {
			problems = append(problems, fail(err)...)
		}
	}
	return problems
}

func (c claim) equal(d claim) bool {
	return c.By == d.By && c.Path == d.Path && c.Write == d.Write && c.Label.SameClass(d.Label)
}

func readClaims(file string, text []byte) (c claims, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("%s: %w: restore it, or use another state folder", file, err)
	}
	return c, nil
}

// readAllClaims reads what all agents have put down, in the order of the files' names.
func readAllClaims(dir string) (out []claims, err error) {
	files, err := fs.Glob(os.DirFS(dir), "*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) { // taken back meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		c, err := readClaims(file, text)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// replace writes a file as a whole: a reader sees the old one or the new one.
func replace(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if end := f.Close(); err == nil {
		err = end
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
