package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// keys are what a journal is encrypted to, as a host has it, and opened with.
func (c *command) keys(host *spec.Host) (*journal.Keys, error) {
	var to []string
	if host != nil {
		to = host.Journal.Encrypt
	}
	file := cmp.Or(c.identity, c.getenv("CALLGATE_IDENTITY"))
	if file == "" {
		k, err := journal.NewKeys(to, nil)
		return k, encryptsTo(err)
	}
	if _, err := journal.NewKeys(to, nil); err != nil {
		return nil, encryptsTo(err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, usage("", "--identity: %v", err)
	}
	defer f.Close()
	k, err := journal.NewKeys(to, f)
	if err != nil {
		return nil, usage("", "--identity %s: %s", file, strings.TrimPrefix(err.Error(), "journal: "))
	}
	return k, nil
}

// encryptsTo says that a recipient in callgate.yaml is none.
func encryptsTo(err error) error {
	if err == nil {
		return nil
	}
	return usage("", "callgate.yaml: journal.encrypt: %s", strings.TrimPrefix(err.Error(), "journal: "))
}

// openState opens the folder, or one for this run alone if it has no name. Its runs are encrypted as the host has it.
func (c *command) openState(dir string, host *spec.Host) (*state, error) {
	keys, err := c.keys(host)
	if err != nil {
		return nil, err
	}
	s := &state{kept: dir != ""}
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
	c.emptied(s.journal())
	if s.store, err = journal.Open(s.journal()); err != nil {
		if !s.kept {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
		return nil, err
	}
	s.store.Use(keys)
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
	keys, err := c.keys(nil)
	if err != nil {
		return nil, dir, err
	}
	c.emptied(file)
	store, err := journal.Open(file)
	if err != nil {
		return nil, dir, err
	}
	store.Use(keys)
	return store, dir, nil
}

// emptied says that a journal is empty which held runs: its key was made with the first of them.
func (c *command) emptied(file string) {
	info, err := os.Stat(file)
	if err != nil || info.Size() > 0 {
		return
	}
	if info, err = os.Stat(file + ".key"); err == nil && info.Size() > 0 {
		c.say(file + ": is empty, and the key beside it is of a journal that was not: the runs that it held are gone\nhint: put the file back from a copy, or take the key away too")
	}
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
