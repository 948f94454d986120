package std

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
)

// allowed is one entry of an allow-list: which URLs, what comes from there, and what is sent there besides.
type allowed struct {
	text    string
	scheme  string
	host    string // in its normal form; of a wildcard what stands below the star
	below   bool   // one name more stands before host
	port    string
	path    []string // decoded; "*" is any one name
	rest    bool     // anything may follow the path
	class   label.Label
	headers []header
}

// parseAllowed reads an entry such as https://api.example.com/v1/*, https://*.example.com:8443/a/*/c, http://10.0.0.7/status.
func parseAllowed(text string) (*allowed, error) {
	a := &allowed{text: text}
	scheme, after, ok := strings.Cut(text, "://")
	authority, path, hasPath := strings.Cut(after, "/")
	switch {
	case !ok || scheme != "https" && scheme != "http":
		return nil, errors.New("want a URL that begins with https:// or http://")
	case strings.ContainsAny(text, "?#\\@ \t\r\n"):
		return nil, errors.New("want a scheme, a host and a path alone: any query goes with them, and a user name never does")
	case !hasPath:
		return nil, fmt.Errorf("want a path, such as %s/* for everything there", text)
	}
	if below, ok := strings.CutPrefix(authority, "*."); ok {
		if strings.Count(strings.Trim(below, "."), ".") == 0 {
			return nil, fmt.Errorf("want two names at least after the star, not all of %s", below)
		}
		authority, a.below = below, true
	}
	u, err := cleanURL(scheme + "://" + authority + "/")
	if err != nil {
		return nil, err
	}
	a.scheme, a.host, a.port = u.Scheme, u.Hostname(), portOf(u)
	steps := strings.Split(path, "/")
	if steps[len(steps)-1] == "*" {
		a.rest, steps = true, steps[:len(steps)-1]
	}
	for _, s := range steps {
		name, err := url.PathUnescape(s)
		if err != nil {
			return nil, err
		}
		if err := checkStep(name); err != nil {
			return nil, err
		}
		if name != "*" && strings.Contains(name, "*") {
			return nil, fmt.Errorf("path: got %q, want a star alone between slashes", s)
		}
		a.path = append(a.path, name)
	}
	return a, nil
}

// origin is what credentials belong to.
func (a *allowed) origin() string {
	host := a.host
	if a.below {
		host = "*." + host
	}
	return a.scheme + "://" + host + ":" + a.port
}

// fits reports whether the entry names a URL that [cleanURL] has made.
func (a *allowed) fits(u *url.URL) bool {
	host := u.Hostname()
	if a.below {
		name, below, ok := strings.Cut(host, ".")
		if !ok || name == "" || below != a.host {
			return false
		}
	} else if host != a.host {
		return false
	}
	if u.Scheme != a.scheme || portOf(u) != a.port {
		return false
	}
	steps, err := stepsOf(u)
	if err != nil || len(steps) < len(a.path) || len(steps) > len(a.path) && !a.rest {
		return false
	}
	if a.rest && len(steps) == len(a.path) {
		return false // https://h/v1/* is what is below /v1/
	}
	for i, want := range a.path {
		if want == "*" && steps[i] != "" || want == steps[i] {
			continue
		}
		return false
	}
	return true
}

// entryFor returns the first entry that names a URL, or nil.
func entryFor(list []*allowed, u *url.URL) *allowed {
	if i := slices.IndexFunc(list, func(a *allowed) bool { return a.fits(u) }); i >= 0 {
		return list[i]
	}
	return nil
}

// stepsOf is the path of a URL, decoded name by name.
func stepsOf(u *url.URL) ([]string, error) {
	steps := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, s := range steps {
		name, err := url.PathUnescape(s)
		if err != nil {
			return nil, err
		}
		if err := checkStep(name); err != nil {
			return nil, err
		}
		steps[i] = name
	}
	return steps, nil
}

// checkStep refuses what one server reads as a name and another as a way up, or as several names.
func checkStep(name string) error {
	bare, _, _ := strings.Cut(name, ";") // some servers take off what follows
	lower := strings.ToLower(name)
	switch {
	case bare == "." || bare == "..":
		return errors.New("path: has . or .. for a step")
	case strings.ContainsAny(name, "/\\") || hasControl(name):
		return errors.New("path: has an encoded slash, backslash or control character")
	case strings.Contains(lower, "%2e") || strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") || strings.Contains(lower, "%25"):
		return errors.New("path: is encoded twice")
	}
	return nil
}

// cleanURL returns a URL of http or https in its normal form, which is what policies see and what is fetched, or says why there is none. What
// parsers disagree on has no normal form.
func cleanURL(text string) (*url.URL, error) {
	norm, host := builtins.NormURL(text)
	if norm == "" {
		u, err := url.Parse(text)
		switch {
		case len(text) > builtins.MaxNorm:
			return nil, fmt.Errorf("URL: longer than %d bytes", builtins.MaxNorm)
		case strings.Contains(text, `\`) || hasControl(text):
			return nil, errors.New("URL: has a backslash or a control character")
		case err != nil || u.Host == "":
			return nil, errors.New("URL: want scheme://host/path, such as https://api.example.com/v1/items")
		case u.User != nil:
			return nil, errors.New("URL: has a user name before the host; credentials come from the agent's file")
		case host == "":
			return nil, errors.New("URL: want a host name, or an IP address as it is usually written")
		}
		return nil, errors.New("URL: path: has . or .. for a step")
	}
	u, err := url.Parse(norm)
	if err != nil {
		return nil, errors.New("URL: has no normal form")
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("URL: got the scheme %.20q, want https or http", u.Scheme)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != p {
			return nil, errors.New("URL: port: want a number from 1 to 65535")
		}
	}
	if _, err := stepsOf(u); err != nil {
		return nil, fmt.Errorf("URL: %w", err)
	}
	u.RawQuery = escapeQuery(u.RawQuery)
	return u, nil
}

// escapeQuery escapes what has no place in the first line of a request.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// portOf is the port that a URL leads to.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
