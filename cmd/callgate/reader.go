package main

import (
	"strings"

	"callgate/cmd/internal/console"
	"callgate/engine/journal"
	"callgate/engine/label"
	"callgate/policies"
	"callgate/spec"
)

// readers returns who reads a run: who is at the terminal, by the host that is bound or else callgate.yaml here or above; without one, the run's own
// principal, as whoever has the journal and no host is alone with it. Whom nobody knows is nobody, and reads what is public.
func (c *command) readers(b *bound) func([]journal.Event) policies.Principal {
	nobody := func([]journal.Event) policies.Principal { return policies.Principal{} }
	var host *spec.Host
	if b != nil {
		host = b.host
	} else {
		var problems []spec.Problem
		if host, problems = spec.FindHost("."); spec.Fatal(problems) {
			c.tell(problems)
			c.say("who is at the terminal is not known: what is not for everybody is hidden")
			return nobody
		}
	}
	if host == nil {
		return principalOf
	}
	who, err := c.person(host, "")
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		c.say(first + ": what is not for everybody is hidden")
		return nobody
	}
	return func([]journal.Event) policies.Principal { return who }
}

// mayRead says what who is at the terminal may read of a run that they watch as it happens: what is public, if nobody knows them.
func (c *command) mayRead(host *spec.Host) func(label.Label) bool {
	who, err := c.person(host, "")
	if err != nil {
		return policies.Principal{}.MayRead
	}
	return who.MayRead
}

// hiding is the mark that stands in place of what is labelled l, or "" if it may be read.
func hiding(may func(label.Label) bool, l label.Label) string {
	if may(l) {
		return ""
	}
	return console.Hidden(l)
}
