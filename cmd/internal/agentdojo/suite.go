// Package agentdojo runs the banking suite of AgentDojo against an agent's policies: sixteen tasks of an honest
// user, and nine that a stranger has put into what the tools read.
//
// The suite's data are a third party's and no part of Callgate. [Load] reads them from a folder, as JSON. [Bank] is
// the suite's environment, and [Tools] are its eleven tools with what a bank would declare of them. [Bench] runs two tables:
//
//   - [Bench.Honest]: for each task the program that an ideal model would write, and whether the task is served;
//   - [Bench.Attacks]: for each task and each injection everything that an attacker could make of it who
//     writes all that a model writes once it has seen the injection.
//
// Both are judged by the state of the account at the end, not by what programs say.
package agentdojo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suite is the suite's data.
type Suite struct {
	Tasks      []Task      // of the user
	Injections []Injection // of the attacker
	Traces     map[string][]Traced

	environment json.RawMessage
	vectors     []vector
}

// Task is something that the user wants.
type Task struct {
	ID      string   `json:"id"`
	Prompt  string   `json:"prompt"`
	Output  string   `json:"ground_truth_output"`
	Effects []effect `json:"effects"`
	Vectors []string `json:"injectable_vectors"` // what of the environment that an attacker writes the task reads
	Depends []string `json:"data_dependency"`
}

// Injection is something that the attacker wants.
type Injection struct {
	ID    string   `json:"id"`
	Goal  string   `json:"goal"`
	Calls []Called `json:"ground_truth"`
}

// Called is one call of a tool.
type Called struct {
	Function string         `json:"function"`
	Args     map[string]any `json:"args"`
}

// Traced is a call and what it gave.
type Traced struct {
	Called
	Result any `json:"result"`
}

// effect is a change of the environment.
type effect struct {
	Path string          `json:"path"`
	Op   string          `json:"op"`
	New  json.RawMessage `json:"new"`
}

// vector is a place where an attacker writes.
type vector struct {
	Name    string `json:"name"`
	Default string `json:"default_rendered"`
}

// Load reads a suite from its folder.
func Load(dir string) (*Suite, error) {
	s := &Suite{}
	for file, into := range map[string]any{
		"user_tasks.json": &s.Tasks, "injection_tasks.json": &s.Injections, "golden_traces.json": &s.Traces,
		"environment.json": &s.environment, "injection_vectors.json": &s.vectors,
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: got no %s, want the folder of a suite of AgentDojo as JSON", dir, file)
			}
			return nil, err
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber() // 7 is an int, and 7.0 is none
		if err := d.Decode(into); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
		}
	}
	if _, err := s.Bank(nil); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return s, nil
}

// Bank returns the environment with a text at each place where an attacker could write; where none is given, what stands
// there when nobody attacks.
func (s *Suite) Bank(injected map[string]string) (*Bank, error) {
	text := string(s.environment)
	for _, v := range s.vectors {
		with, ok := injected[v.Name]
		if !ok {
			with = v.Default
		}
		quoted, err := json.Marshal(with)
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, "{"+v.Name+"}", string(quoted[1:len(quoted)-1]))
	}
	var b Bank
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, fmt.Errorf("environment.json: %w", err)
	}
	return &b, nil
}

// Inject puts a text where the attacker of a task writes: in every place that the task reads.
func (s *Suite) Inject(t Task, text string) map[string]string {
	out := map[string]string{}
	for _, v := range s.vectors {
		if slices.Contains(t.Vectors, v.Name) {
			out[v.Name] = text
		}
	}
	return out
}
