package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"callgate/engine/journal"
	"callgate/spec"
)

// journalFile is the journal's name in a state folder.
const journalFile = "journal.db"

// state is an open state folder: what tools write, and the journal.
type state struct {
	dir   string // absolute
	kept  bool   // else it is gone after the run
	store *journal.SQLite
}

// openState opens the folder, or one for this run alone if it has no name.
func openState(dir string) (*state, error) {
	s := &state{kept: dir != ""}
	var err error
	if s.kept {
		if s.dir, err = filepath.Abs(dir); err == nil {
			err = os.MkdirAll(s.dir, 0o700)
		}
	} else {
		s.dir, err = os.MkdirTemp("", "callgate-")
	}
	if err != nil {
		return nil, err
	}
	if s.store, err = journal.Open(s.journal()); err != nil {
		if !s.kept {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
		return nil, err
	}
	return s, nil
}

// stateOf is the state folder of a journal that is open.
func stateOf(dir string, store *journal.SQLite) (*state, error) {
	dir, err := filepath.Abs(dir)
	return &state{dir: dir, kept: true, store: store}, err
}

// journal is the file of the journal.
func (s *state) journal() string { return filepath.Join(s.dir, journalFile) }

// close closes the journal, and removes a folder that was for one run.
func (s *state) close() error {
	err := s.store.Close()
	if !s.kept {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// userState is the folder of journals that nobody has named another place for.
func (c *command) userState() (string, error) {
	if dir := c.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "callgate"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "callgate"), nil
}

// past opens the journal of a state folder for reading: the one named, that of callgate.yaml here or above, or the user's.
func (c *command) past(dir string) (*journal.SQLite, string, error) {
	if dir == "" {
		var err error
		if dir, err = c.stateFolder(); err != nil {
			return nil, "", err
		}
	}
	file := filepath.Join(dir, journalFile)
	if _, err := os.Stat(file); err != nil {
		return nil, dir, fmt.Errorf("%s: no journal here\nhint: runs are kept by callgate run --state DIR, and shown with the same --state", dir)
	}
	store, err := journal.Open(file)
	return store, dir, err
}

// stateFolder is the one that nobody has named on the command line: that of callgate.yaml here or above, or the user's.
func (c *command) stateFolder() (string, error) {
	host, problems := spec.FindHost(".")
	if spec.Fatal(problems) {
		return "", c.invalid(problems)
	}
	if host != nil && host.State != "" {
		return host.State, nil
	}
	return c.userState()
}
