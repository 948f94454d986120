package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// claimFor is how long a claim holds after it was taken or renewed.
	claimFor = time.Minute

	// claimAgain is how long after that it is renewed.
	claimAgain = 20 * time.Second
)

// Holder says who is at a run.
type Holder struct {
	Who     string    `json:"who,omitempty"` // a person, in words; "": nobody said
	Host    string    `json:"host"`
	Space   string    `json:"space,omitempty"` // in which the number of the process counts, where a host has several
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"` // the claim expires then unless it is renewed; zero: it is given up

	Token string `json:"-"` // of one Run: it renews and gives up its own claim only
}

// newHolder returns this process as the holder of one run, from now on.
func newHolder(who string) Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "" // no process is known to be gone then: the claim expires
	}
	now := time.Now().UTC().Round(0)
	return Holder{Who: who, Host: host, Space: processSpace(), Process: os.Getpid(), Since: now, Until: now.Add(claimFor), Token: rand.Text()}
}

// gone reports whether the claim holds nobody off any more: it has expired, or its process was on this host and is there no more.
func (h Holder) gone() bool {
	if !time.Now().Before(h.Until) {
		return true
	}
	host, err := os.Hostname()
	return err == nil && h.Host == host && h.Space == processSpace() && !processExists(h.Process)
}

// HeldError says that somebody else is at a run.
type HeldError struct {
	Run    string
	Holder Holder
}

func (e *HeldError) Error() string {
	who := e.Holder.Who
	if who == "" {
		who = "somebody"
	}
	return fmt.Sprintf("journal: run %s: %s is at it, process %d on %s, since %s: end that process, or wait until %s, when its claim expires unless it is renewed",
		e.Run, who, e.Holder.Process, e.Holder.Host, e.Holder.Since.Format(time.RFC3339), e.Holder.Until.Format(time.RFC3339))
}

// claim is the hold of a Run on its run, renewed by a timer until it is given up.
type claim struct {
	store Store
	run   string

	mu     sync.Mutex
	holder Holder
	timer  *time.Timer // nil once it is given up
}

// take claims a run. If the claim is lost to somebody else later, after this process had been stopped for longer
// than it holds, lost is called.
func take(ctx context.Context, s Store, run, who string, lost func(error)) (*claim, error) {
	c := &claim{store: s, run: run, holder: newHolder(who)}
	if err := s.Claim(ctx, run, c.holder); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(claimAgain, func() {
		if err := c.renew(); err != nil {
			lost(err)
		}
	})
	return c, nil
}

// renew extends the claim. A store that fails at it may work again before the claim expires; one that
// is closed has given it up.
func (c *claim) renew() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return nil
	}
	c.holder.Until = time.Now().UTC().Round(0).Add(claimFor)
	err := c.store.Claim(context.Background(), c.run, c.holder)
	held, lost := errors.AsType[*HeldError](err)
	if lost || errors.Is(err, ErrClosed) {
		c.timer = nil
	} else {
		c.timer.Reset(claimAgain)
	}
	if lost {
		return held
	}
	return nil
}

// release gives the claim up. What cannot be given up expires. The nil claim is none: who speaks at the desk holds nobody off.
func (c *claim) release() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return nil
	}
	c.timer.Stop()
	c.timer = nil
	c.holder.Until = time.Time{}
	return c.store.Claim(context.Background(), c.run, c.holder)
}

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, run string, h Holder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.claims[run]; ok && held.Token != h.Token && !held.gone() {
		if h.Until.IsZero() {
			return nil
		}
		return &HeldError{run, held}
	}
	if h.Until.IsZero() {
		delete(m.claims, run)
		return nil
	}
	if m.claims == nil {
		m.claims = map[string]Holder{}
	}
	m.claims[run] = h
	return nil
}

// Claim implements [Store]: in one transaction, which no other process has a part in.
func (s *SQLite) Claim(ctx context.Context, run string, h Holder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var held *HeldError
	err := s.take(ctx, &appending{do: func(ctx context.Context) (err error) {
		held, err = s.claim(ctx, run, h)
		return err
	}})
	if err == nil && held != nil {
		return held
	}
	return err
}

// claim carries a claim out, in the transaction that was begun, unless somebody else has the run.
func (s *SQLite) claim(ctx context.Context, run string, h Holder) (*HeldError, error) {
	if h.Until.IsZero() {
		delete(s.claims, run)
		_, err := s.conn.ExecContext(ctx, "DELETE FROM claims WHERE run = ? AND token = ?", run, h.Token)
		return nil, err
	}
	_, held, err := scanHolder(s.conn.QueryRowContext(ctx, holderSQL+" WHERE run = ?", run))
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return nil, err
	case err == nil && held.Token != h.Token && !held.gone():
		return &HeldError{run, held}, nil
	}
	_, err = s.conn.ExecContext(ctx, "INSERT OR REPLACE INTO claims (run, token, who, host, space, process, since, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		run, h.Token, h.Who, h.Host, h.Space, h.Process, timeText(h.Since), timeText(h.Until))
	if err == nil {
		s.claims[run] = h.Token
	}
	return nil, err
}

const holderSQL = "SELECT run, token, who, host, space, process, since, until FROM claims"

func scanHolder(row interface{ Scan(...any) error }) (run string, h Holder, err error) {
	var since, until string
	if err := row.Scan(&run, &h.Token, &h.Who, &h.Host, &h.Space, &h.Process, &since, &until); err != nil {
		return "", h, err
	}
	var bad [2]error
	h.Since, bad[0] = parseTime(since)
	h.Until, bad[1] = parseTime(until)
	return run, h, errors.Join(bad[:]...)
}

// holders returns who is at runs, by run.
func holders(ctx context.Context, tx *sql.Tx) (map[string]*Holder, error) {
	rows, err := tx.QueryContext(ctx, holderSQL)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]*Holder{}
	for rows.Next() {
		run, h, err := scanHolder(rows)
		if err != nil {
			return nil, err
		}
		if !h.gone() {
			out[run] = &h
		}
	}
	return out, rows.Err()
}

// releaseAll gives up what was claimed through the store and not given up. What cannot be given up expires.
func (s *SQLite) releaseAll(ctx context.Context) error {
	for run, token := range s.claims {
		if _, err := s.conn.ExecContext(ctx, "DELETE FROM claims WHERE run = ? AND token = ?", run, token); err != nil {
			return err
		}
	}
	return nil
}
