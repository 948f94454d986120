package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"callgate/engine/secret"
)

// Key is what a provider knows its customer by. It is written "[key]" however it is printed or encoded. The zero Key is none.
type Key struct {
	text  *string // a pointer: a key in a field that is not exported is printed without its methods
	forms *secret.Forms
}

const keyMark = "[key]"

// NewKey checks a key: one line of printable ASCII. The error does not hold it.
func NewKey(s string) (Key, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return Key{}, errors.New("it is empty")
	case len(s) > maxKey:
		return Key{}, fmt.Errorf("got %d bytes, want at most %d", len(s), maxKey)
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Key{}, errors.New("want one word of printable ASCII")
	}
	return Key{&s, secret.Of(s)}, nil
}

const maxKey = 8 << 10

func (k Key) String() string               { return keyMark }
func (k Key) GoString() string             { return keyMark }
func (k Key) Format(f fmt.State, _ rune)   { io.WriteString(f, keyMark) }
func (k Key) MarshalText() ([]byte, error) { return []byte(keyMark), nil }
func (k Key) MarshalJSON() ([]byte, error) { return []byte(`"` + keyMark + `"`), nil }

// in reports whether a text holds the key, in one of its forms.
func (k Key) in(s string) bool { return k.forms.In(s) }

// out takes the key out of a text.
func (k Key) out(s string) string { return k.forms.Out(s, keyMark) }

// before is a text without the beginning of the key that it may end with.
func (k Key) before(s string) string { return k.forms.Before(s) }

// KeySource says where a key is. The zero KeySource is nowhere: no key is sent.
type KeySource struct {
	Env     string // name of an environment variable
	File    string // path
	Keyring string // SERVICE/ACCOUNT in the keyring of the system

	Getenv func(string) string // nil: [os.Getenv]
}

func (s KeySource) String() string {
	switch {
	case s.Env != "":
		return "environment variable " + s.Env
	case s.File != "":
		return "file " + s.File
	case s.Keyring != "":
		return "keyring entry " + s.Keyring
	}
	return "nowhere"
}

// keyringWait is how long a keyring may take: it may ask the user to unlock it.
const keyringWait = time.Minute

// Load reads the key. The error says what to do, and holds nothing of it.
func (s KeySource) Load(ctx context.Context) (Key, error) {
	fail := func(hint, format string, args ...any) (Key, error) {
		return Key{}, &KeyError{From: s.String(), Text: fmt.Sprintf(format, args...), Hint: hint}
	}
	var text string
	switch {
	case s.Env != "":
		getenv := s.Getenv
		if getenv == nil {
			getenv = os.Getenv
		}
		if text = getenv(s.Env); text == "" {
			return fail("set it, or say in model.key where the key is: {file: PATH} or {keyring: SERVICE/ACCOUNT}", "is not set")
		}
	case s.File != "":
		f, err := os.Open(s.File)
		if err != nil {
			return fail("put the key there, in one line, readable by you alone", "%v", errors.Unwrap(err))
		}
		defer f.Close()
		info, err := f.Stat()
		switch {
		case err != nil:
			return fail("", "%v", err)
		case !info.Mode().IsRegular():
			return fail("", "is no file")
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
			return fail("chmod 600 "+s.File, "others may read or write it: got mode %04o, want 0600", info.Mode().Perm())
		}
		b, err := io.ReadAll(io.LimitReader(f, maxKey+2))
		if err != nil {
			return fail("", "%v", err)
		}
		text = string(b)
	case s.Keyring != "":
		service, account, _ := strings.Cut(s.Keyring, "/")
		var err error
		if text, err = fromKeyring(ctx, service, account); err != nil {
			return fail(fmt.Sprintf("put it there, such as with secret-tool store --label=callgate service %s username %s (Linux), or security add-generic-password -s %[1]s -a %[2]s -w (macOS)", service, account), "%v", err)
		}
	default:
		return Key{}, nil
	}
	k, err := NewKey(text)
	if err != nil {
		return fail("put the key there, in one line, and nothing else", "holds no key: %v", err)
	}
	return k, nil
}

// fromKeyring asks the keyring of the system, which cannot be told to stop: one that does not answer is left behind.
func fromKeyring(ctx context.Context, service, account string) (string, error) {
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := keyring.Get(service, account)
		done <- answer{text, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, keyringWait)
	defer cancel()
	select {
	case a := <-done:
		if errors.Is(a.err, keyring.ErrNotFound) {
			return "", errors.New("is not there")
		} else if a.err != nil {
			return "", fmt.Errorf("the keyring cannot be read: %w", a.err)
		}
		return a.text, nil
	case <-ctx.Done():
		return "", errors.New("the keyring did not answer")
	}
}

// KeyError says why there is no key.
type KeyError struct{ From, Text, Hint string }

func (e *KeyError) Error() string {
	s := "the model's key: " + e.From + ": " + e.Text
	if e.Hint != "" {
		s += "\nhint: " + e.Hint
	}
	return s
}
