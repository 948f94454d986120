package main

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"callgate/policies"
	"callgate/spec"
)

// account is an account of the operating system.
type account struct {
	name string // "" if the system has none for the number
	id   string // its number; on Windows, its security identifier
}

// rootLogin is the account that the system lets be anybody, whatever it is called.
const rootLogin = "root"

// root reports whether the account may be anybody: the system lets it.
func (a account) root() bool { return a.id == "0" }

// is reports whether the account is that of one of the people.
func (a account) is(p spec.Person) bool { return p.Login == a.name || p.Login == a.id }

// known is the account as the host, which may be nil, names it.
func known(host *spec.Host, who account) string {
	if host != nil && !who.root() {
		if i := slices.IndexFunc(host.People, who.is); i >= 0 {
			return host.People[i].Login
		}
	}
	return who.String()
}

// String is the name, or else the number.
func (a account) String() string {
	switch {
	case a.root():
		return rootLogin
	case a.name == "" || a.name == rootLogin:
		return a.id
	}
	return a.name
}

// login is the account that the command runs under. What the environment says of it does not count: whoever starts
// the command can say anything there.
func login() (account, error) {
	uid := os.Getuid()
	if uid < 0 { // Windows
		u, err := user.Current()
		if err != nil {
			return account{}, err
		}
		return account{u.Username, u.Uid}, nil
	}
	a := account{id: strconv.Itoa(uid)}
	if u, err := user.LookupId(a.id); err == nil {
		a.name = u.Username
	}
	return a, nil
}

// person is who is at the terminal: who approves and refuses there, and who reads. Where the host names people it is whom their
// login says, and an error if it says nobody; else it is the principal, who is nobody if the host (which may
// be nil) has none. As may name another of the people; this needs an account that the system lets be anybody.
func (c *command) person(host *spec.Host, as string) (policies.Principal, error) {
	who, err := login()
	if err != nil {
		return policies.Principal{}, err
	}
	return personOf(host, who, as)
}

func personOf(host *spec.Host, who account, as string) (policies.Principal, error) {
	if host == nil || len(host.People) == 0 {
		if as != "" {
			return policies.Principal{}, usage("people: in "+spec.HostFile+" says who there is", "--as %s: the host names no people", as)
		}
		if host == nil {
			return policies.Principal{}, nil
		}
		return policies.Principal{Sub: host.Principal.Sub, Groups: host.Principal.Groups, Claims: host.Principal.Claims}, nil
	}
	if as != "" && !who.root() {
		return policies.Principal{}, usage("log in as whoever it is", "--as %s: only root may be somebody else, and this is %s", as, who)
	}
	i := slices.IndexFunc(host.People, who.is)
	if as != "" {
		i = slices.IndexFunc(host.People, func(p spec.Person) bool { return p.Sub == as })
	}
	switch {
	case i < 0 && as != "":
		return policies.Principal{}, usage("", "%s: --as %s: people: nobody is called so", host.File, as)
	case i < 0:
		return policies.Principal{}, fmt.Errorf("%s: people: nobody has the login %s\nhint: add {login: %s, sub: …}, or log in as somebody who is there", host.File, who, who)
	}
	p := host.People[i]
	return policies.Principal{Sub: p.Sub, Groups: p.Groups}, nil
}

// stranger says that nobody is asked at the terminal, since it is not known who is there.
func (c *command) stranger(err error) {
	first, _, _ := strings.Cut(err.Error(), "\n")
	c.say(first + ": what policies ask for is not asked here")
}
