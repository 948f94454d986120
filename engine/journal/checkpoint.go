package journal

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// checkpointVersion is the version of what is signed.
const checkpointVersion = 1

// Checkpoint says, signed, what the ledger and the runs that were under way were at some time. One that was kept
// elsewhere shows whether the journal was written anew since.
type Checkpoint struct {
	Version   int       `json:"checkpoint"`
	Line      int64     `json:"line"` // the last of the ledger; 0: it was empty
	Hash      string    `json:"hash"` // of that line
	Time      time.Time `json:"time"` // UTC
	Open      string    `json:"open"` // digest of Heads, hex
	Heads     []Head    `json:"heads,omitempty"`
	Key       string    `json:"key"`       // the public key, see [ParseKey]
	Signature string    `json:"signature"` // ed25519 over the digest of all but Heads, hex
}

// Head is the last event of a run that was under way.
type Head struct {
	Run  string `json:"run"`
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// openDigest is the digest of heads.
func openDigest(heads []Head) string {
	parts := []string{"callgate heads 1"}
	for _, h := range heads {
		parts = append(parts, h.Run, strconv.FormatInt(h.Seq, 10), h.Hash)
	}
	return hashParts(parts...)
}

// signed returns what is signed of a checkpoint.
func (c Checkpoint) signed() []byte {
	return []byte(hashParts("callgate checkpoint "+strconv.Itoa(c.Version), strconv.FormatInt(c.Line, 10), c.Hash, timeText(c.Time), c.Open, c.Key))
}

// sign makes a checkpoint over a line of the ledger and the heads of runs under way.
func sign(key ed25519.PrivateKey, last Line, heads []Head, at time.Time) Checkpoint {
	c := Checkpoint{
		Version: checkpointVersion, Line: last.N, Hash: last.Hash, Time: at.UTC().Round(0), Open: openDigest(heads), Heads: heads,
		Key: KeyText(key.Public().(ed25519.PublicKey)),
	}
	c.Signature = hex.EncodeToString(ed25519.Sign(key, c.signed()))
	return c
}

// Check reports whether the checkpoint is signed by a key, whose text it must carry.
func (c Checkpoint) Check(key ed25519.PublicKey) error {
	sig, err := hex.DecodeString(c.Signature)
	switch {
	case c.Version > checkpointVersion:
		return fmt.Errorf("journal: checkpoint: has version %d, this version reads up to %d: %w", c.Version, checkpointVersion, ErrNewer)
	case c.Key != KeyText(key):
		return fmt.Errorf("journal: checkpoint of line %d: signed by another key: got %s, want %s", c.Line, c.Key, KeyText(key))
	case err != nil || c.Signature != hex.EncodeToString(sig) || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.signed(), sig):
		return fmt.Errorf("journal: checkpoint of line %d: altered or forged: its signature does not match", c.Line)
	case len(c.Heads) > 0 && openDigest(c.Heads) != c.Open:
		return fmt.Errorf("journal: checkpoint of line %d: altered: the runs under way do not match their digest", c.Line)
	}
	return nil
}

const keyPrefix = "ed25519:"

// KeyText returns the text of a public key: ed25519: and 64 hex digits.
func KeyText(key ed25519.PublicKey) string { return keyPrefix + hex.EncodeToString(key) }

// ParseKey reads a public key: its text ([KeyText]), or the PEM of a public key or of the private one that signs.
func ParseKey(text []byte) (ed25519.PublicKey, error) {
	trimmed := string(bytes.TrimSpace(text))
	if digits, ok := strings.CutPrefix(trimmed, keyPrefix); ok {
		if key, err := hex.DecodeString(digits); err == nil && len(key) == ed25519.PublicKeySize {
			return key, nil
		}
	}
	if block, _ := pem.Decode(text); block != nil {
		if any, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := any.(ed25519.PrivateKey); ok {
				return key.Public().(ed25519.PublicKey), nil
			}
		}
		if any, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if key, ok := any.(ed25519.PublicKey); ok {
				return key, nil
			}
		}
	}
	return nil, errors.New("journal: no ed25519 key: want ed25519: and 64 hex digits, or PEM")
}

// keyFile is where the key that signs checkpoints of a journal is kept: beside it, never in it.
func keyFile(path string) string { return path + ".key" }

// readKey reads a private key from a file, and makes both if there is none.
func readKey(path string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(path); err != nil {
			return nil, fmt.Errorf("the key that signs checkpoints: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the key that signs checkpoints: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if any, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := any.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("the key that signs checkpoints: %s: no ed25519 key in PEM: restore it, or move it away so that a new one is made", path)
}

// makeKey makes a key in a file that its owner alone can read. If another process makes one at the same time, the first one stays.
func makeKey(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// loadKey reads the key that signs once, and makes it if there is none.
func (s *SQLite) loadKey() (err error) {
	if s.key == nil {
		s.key, err = readKey(keyFile(s.path))
	}
	return err
}

// PublicKey returns the key that checkpoints of this journal are signed by; nil if nothing was signed yet.
func (s *SQLite) PublicKey() (ed25519.PublicKey, error) {
	text, err := os.ReadFile(keyFile(s.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	key, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, keyFile(s.path))
	}
	return key, nil
}

// checkpoint signs the ledger up to its last line and the runs that are under way, in the transaction that was begun. The
// heads stand in the newest checkpoint only: by then, runs that were under way have gone on or ended.
func (s *SQLite) checkpoint(ctx context.Context, last Line, at time.Time) (c Checkpoint, err error) {
	if err := s.loadKey(); err != nil {
		return c, err
	}
	heads, err := s.openHeads(ctx)
	if err != nil {
		return c, err
	}
	c = sign(s.key, last, heads, at)
	var text []byte
	if len(heads) > 0 {
		if text, err = json.Marshal(heads); err != nil {
			return c, err
		}
	}
	if err := s.exec(ctx, "forget"); err != nil {
		return c, err
	}
	return c, s.exec(ctx, "checkpoint", c.Line, c.Version, c.Hash, timeText(c.Time), c.Open, string(text), c.Key, c.Signature)
}

// openHeads returns the last events of the runs under way.
func (s *SQLite) openHeads(ctx context.Context) (heads []Head, err error) {
	rows, err := s.stmt["open"].QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h Head
		if err := rows.Scan(&h.Run, &h.Seq, &h.Hash); err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, rows.Err()
}

// Checkpoint signs the journal as it is now. What it returns is worth keeping elsewhere.
func (s *SQLite) Checkpoint(ctx context.Context, at time.Time) (c Checkpoint, err error) {
	err = s.take(ctx, &appending{sync: true, do: func(ctx context.Context) error {
		last, err := s.tail(ctx)
		if err == nil {
			c, err = s.checkpoint(ctx, last, at)
		}
		return err
	}})
	return c, err
}

// checkpoints returns what was signed: when the run ended, or all if run is "".
func (s *SQLite) checkpoints(ctx context.Context, run string) (out []Checkpoint, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT line, version, hash, time, open, heads, key, signature FROM checkpoints
		WHERE ?1 = '' OR line IN (SELECT n FROM ledger WHERE run = ?1) ORDER BY line`, run)
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Checkpoint
		var at, heads string
		if err := rows.Scan(&c.Line, &c.Version, &c.Hash, &at, &c.Open, &heads, &c.Key, &c.Signature); err != nil {
			return nil, s.explain(err)
		}
		if c.Time, err = parseTime(at); err == nil && heads != "" {
			err = json.Unmarshal([]byte(heads), &c.Heads)
		}
		if err != nil {
			return nil, fmt.Errorf("journal: %s: checkpoint of line %d: %w", s.path, c.Line, err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		return nil, s.explain(err)
	}
	return out, nil
}
