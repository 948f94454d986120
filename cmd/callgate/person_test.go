package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callgate/policies"
	"callgate/spec"
)

func TestPersonAtTheMachine(t *testing.T) {
	alone := &spec.Host{File: "callgate.yaml", Principal: spec.Principal{Sub: "ana@corp.example", Groups: []string{"office"}}}
	several := &spec.Host{File: "callgate.yaml", Principal: alone.Principal, People: []spec.Person{
		{Login: "ana", Sub: "ana@corp.example", Groups: []string{"office"}},
		{Login: "bob", Sub: "bob@corp.example", Groups: []string{"finance", "office"}},
		{Login: "1007", Sub: "cleo@corp.example"},
	}}
	for _, test := range []struct {
		name string
		host *spec.Host
		who  account
		as   string
		want string // sub and groups
		err  string // what the error begins with
	}{
		{"there is no host", nil, account{"ana", "1000"}, "", " []", ""},
		{"the host has no principal", &spec.Host{}, account{"ana", "1000"}, "", " []", ""},
		{"nobody is named: the principal", alone, account{"eve", "1001"}, "", "ana@corp.example [office]", ""},
		{"a login that is named", several, account{"bob", "1001"}, "", "bob@corp.example [finance office]", ""},
		{"a login that is not", several, account{"eve", "1002"}, "", "", "callgate.yaml: people: nobody has the login eve\nhint: add {login: eve, sub: …}"},
		{"the requester's login is not named either", &spec.Host{Principal: alone.Principal, People: several.People[1:]}, account{"ana", "1000"}, "", "", ": people: nobody has the login ana"},
		{"an account without a name", several, account{"", "1007"}, "", "cleo@corp.example []", ""},
		{"an account without a name that is not named", several, account{"", "1008"}, "", "", "callgate.yaml: people: nobody has the login 1008"},
		{"root is nobody by itself", several, account{"root", "0"}, "", "", "callgate.yaml: people: nobody has the login root"},
		{"root as somebody", several, account{"root", "0"}, "bob@corp.example", "bob@corp.example [finance office]", ""},
		{"root as nobody there is", several, account{"root", "0"}, "dan@corp.example", "", "callgate.yaml: --as dan@corp.example: people: nobody is called so"},
		{"somebody as somebody else", several, account{"ana", "1000"}, "bob@corp.example", "", "--as bob@corp.example: only root may be somebody else, and this is ana"},
		{"one who calls herself root", several, account{"root", "1000"}, "bob@corp.example", "", "--as bob@corp.example: only root may be somebody else, and this is 1000"},
		{"as somebody where there are no people", alone, account{"root", "0"}, "bob@corp.example", "", "--as bob@corp.example: the host names no people"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := personOf(test.host, test.who, test.as)
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) || got.Sub != "" {
					t.Fatalf("got %+v, %v; want the error %q", got, err, test.err)
				}
				return
			}
			if err != nil || got.Sub+" ["+strings.Join(got.Groups, " ")+"]" != test.want {
				t.Errorf("got %+v, %v; want %s", got, err, test.want)
			}
		})
	}
}

// Who answers under an account that the host knows by its number is found again by it.
func TestWhoAnAccountStandsFor(t *testing.T) {
	host := &spec.Host{Principal: spec.Principal{Sub: "ana"}, People: []spec.Person{
		{Login: "bob", Sub: "bob", Groups: []string{"finance"}}, {Login: "1007", Sub: "cleo"}, {Login: "bob2", Sub: "bob", Groups: []string{"board"}},
	}}
	for _, test := range []struct {
		name  string
		host  *spec.Host
		login string
		by    string
		want  string // groups, or "-": nobody
	}{
		{"the login's own", host, known(host, account{"bob", "1001"}), "bob", "finance"},
		{"another login of theirs", host, known(host, account{"bob2", "1003"}), "bob", "board"},
		{"by its number", host, known(host, account{"cleo", "1007"}), "cleo", ""},
		{"somebody else's", host, known(host, account{"bob", "1001"}), "cleo", "-"},
		{"one that is not named", host, known(host, account{"eve", "1002"}), "bob", "-"},
		{"root's", host, known(host, account{"root", "0"}), "bob", "finance"},
		{"root's, for nobody there is", host, known(host, account{"root", "0"}), "dan", "-"},
		{"of one who calls herself root", host, known(host, account{"root", "1002"}), "bob", "-"},
		{"any, where the host names nobody", &spec.Host{Principal: spec.Principal{Sub: "ana", Groups: []string{"x"}}}, "eve", "ana", "x"},
		{"any, for another than the principal", &spec.Host{Principal: spec.Principal{Sub: "ana"}}, "eve", "bob", "-"},
		{"any, where there is no host", nil, "eve", "ana", "-"},
		{"nobody, where the host has no principal", &spec.Host{}, "eve", "", "-"},
	} {
		groups, ok := whose(test.host)(test.login, test.by)
		if got := strings.Join(groups, " "); ok != (test.want != "-") || ok && got != test.want {
			t.Errorf("%s: got %q, %v; want %q", test.name, got, ok, test.want)
		}
	}
}

// The environment does not say who somebody is.
func TestLoginIsNotTheEnvironments(t *testing.T) {
	before, err := login()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME", "SUDO_USER"} {
		t.Setenv(name, "somebody-else")
	}
	after, err := login()
	if err != nil || after != before {
		t.Errorf("got %+v, %v; want %+v", after, err, before)
	}
	if uid := os.Getuid(); uid >= 0 && after.id != strconv.Itoa(uid) {
		t.Errorf("got the account %s, want %d", after.id, uid)
	}
}

func TestPersonHasWhatIsKnownOfThePrincipal(t *testing.T) {
	host := &spec.Host{Principal: spec.Principal{Sub: "ana", Groups: []string{"office"}, Claims: map[string]any{"floor": 3}}}
	got, err := personOf(host, account{"ana", "1"}, "")
	want := policies.Principal{Sub: "ana", Groups: []string{"office"}, Claims: map[string]any{"floor": 3}}
	if err != nil || got.Sub != want.Sub || !slices.Equal(got.Groups, want.Groups) || got.Claims["floor"] != 3 {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
