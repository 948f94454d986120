package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"callgate/cmd/internal/console"
	"callgate/engine/desk"
	"callgate/engine/gate"
	"callgate/engine/journal"
	"callgate/policies"
	"callgate/spec"
)

// approvalsFlags are the flags of the verbs of approvals.
type approvalsFlags struct {
	state, host, as string
	json            bool
	reason          string
	shown           string
	whole, unseen   bool
	scope           *choice
	params          []string
	match           []string
	until           string
}

func (c *command) approvalsVerb() *cobra.Command {
	cmd := group("approvals", "Answer what runs wait for")
	cmd.Long = `Answer what runs wait for: a call that a policy asks people about, in a run that found nobody to ask. The answer is kept in the
state folder, and holds when the run goes on: for exactly the call that was shown, once, if the policies still allow it then.

Who answers is whom callgate.yaml (in this folder or above it, or that of --host) says of the account that the command runs under: people
there, or else the principal.`
	cmd.Example = `  callgate approvals list --state ./state
  callgate approvals show k7q2 --state ./state
  callgate approvals approve k7q2 --state ./state --reason "as agreed"
  callgate approvals deny k7q2 --state ./state --reason "not this one"`
	cmd.AddCommand(c.asksVerb(), c.askVerb(), c.approveVerb(), c.denyVerb(), c.grantsVerb(), c.revokeVerb())
	return cmd
}

func (f *approvalsFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.state, "state", "", "`folder` of the journal")
	cmd.Flags().StringVar(&f.host, "host", "", "the `file` callgate.yaml, if it is not here or above")
	cmd.Flags().StringVar(&f.as, "as", "", "`who` of the people it is: for root alone")
	cmd.Flags().BoolVar(&f.json, "json", false, what)
}

func (c *command) asksVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List what is to be answered, the oldest first",
		Long: `List what is to be answered, the oldest first: an ID to answer it by, of which a beginning will do; for how long it has been there; the call; by whom, and by how
many more, it is to be approved; until when. Several asks of one call are a line each.`,
		Example: "  callgate approvals list --state ./state\n  callgate approvals list --json | jq -r .id",
		Args:    arguments(0, 0, "none"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.asks(cmd.Context(), f) },
	}
	f.add(cmd, "write a line of JSON for each")
	return cmd
}

func (c *command) askVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show what would be approved",
		Long: `Show what would be approved, all of it: each argument with its labels and where it came from, the effects, for whom the agent runs, the line of the program, and
what may mislead: characters that cannot be seen, that turn the direction of reading or that look like others. What you may not read is hidden.`,
		Example: "  callgate approvals show k7q2 --state ./state\n  callgate approvals show k7q2 --whole",
		Args:    arguments(1, 1, "the ID of what is asked"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.showAsk(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write it as JSON")
	cmd.Flags().BoolVar(&f.whole, "whole", false, "cut nothing, however long it is")
	return cmd
}

func (c *command) approveVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "approve ID", Short: "Approve a call",
		Long: `Approve a call. At a terminal it is shown, and you are asked; elsewhere --shown must have the digits that callgate approvals show said, so that what was shown is what is
approved.

It holds for that call alone, unless --scope says more. Other calls are covered only if the same ask meets the same tool of the same agent for the same principal, with arguments that are
labelled no worse than those shown:
  value  and the argument that the ask is about, or those of --param, is the same
  tool   and each argument of --match fits its pattern: * is a name of ASCII letters and digits, ** anything
  run    whatever the arguments are, in this run
Value and tool are good in this run; with --until, in every run until then.`,
		Example: `  callgate approvals approve k7q2 --state ./state --reason "as agreed"
  callgate approvals approve k7q2 --shown 3f2a91bc
  callgate approvals approve k7q2 --scope value --until 2h
  callgate approvals approve k7q2 --scope tool --match 'to=*@corp.example' --until 2026-12-24T12:00:00Z`,
		Args: arguments(1, 1, "the ID of what is asked"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.approve(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write the grant as JSON")
	fl := cmd.Flags()
	fl.StringVar(&f.reason, "reason", "", "why: `text` that is kept")
	fl.StringVar(&f.shown, "shown", "", "the `digits` that show said, in place of being asked")
	fl.BoolVar(&f.unseen, "unseen", false, "approve what you may not read")
	f.scope = &choice{"", desk.Kinds()}
	fl.Var(f.scope, "scope", "which other calls it is for")
	fl.StringArrayVar(&f.params, "param", nil, "with the scope value: `name` of an argument that must be the same; as often as there are")
	fl.StringArrayVar(&f.match, "match", nil, "with the scope tool: `name=pattern` of an argument; as often as there are")
	fl.StringVar(&f.until, "until", "", "how long it holds: a `time` such as 2h or 2026-12-24T12:00:00Z")
	return cmd
}

func (c *command) denyVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "deny ID", Short: "Refuse a call",
		Long:    "Refuse a call: when the run goes on, its program is told so. Who wants the call may refuse it too.",
		Example: `  callgate approvals deny k7q2 --state ./state --reason "not this one"`,
		Args:    arguments(1, 1, "the ID of what is asked"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.deny(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write the refusal as JSON")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why: `text` that is kept")
	return cmd
}

func (c *command) grantsVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "grants", Short: "List what was answered, the newest first",
		Example: "  callgate approvals grants --state ./state",
		Args:    arguments(0, 0, "none"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.grants(cmd.Context(), f) },
	}
	f.add(cmd, "write a line of JSON for each")
	return cmd
}

func (c *command) revokeVerb() *cobra.Command {
	var f approvalsFlags
	cmd := &cobra.Command{
		Use: "revoke GRANT", Short: "Take back an approval",
		Long:    "Take back an approval, of yours or of somebody else. What was done under it stays done.",
		Example: "  callgate approvals revoke g4 --state ./state",
		Args:    arguments(1, 1, "the id of a grant"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.revoke(cmd.Context(), args[0], f) },
	}
	f.add(cmd, "write it as JSON")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why: `text` that is kept")
	return cmd
}

// sitting is a person at the desk of a store.
type sitting struct {
	desk   *desk.Desk
	store  *journal.SQLite
	person policies.Principal
	login  string
	dir    string
}

func (s *sitting) by() desk.Person {
	return desk.Person{Sub: s.person.Sub, Groups: s.person.Groups, Login: s.login}
}

// sit opens the desk of a state folder for whoever is at the terminal.
func (c *command) sit(f approvalsFlags) (*sitting, error) {
	host, problems := spec.FindHost(".")
	if f.host != "" {
		host, problems = spec.LoadHost(f.host)
	}
	if spec.Fatal(problems) {
		return nil, c.invalid(problems)
	}
	who, err := login()
	if err != nil {
		return nil, err
	}
	person, err := personOf(host, who, f.as)
	if err != nil {
		return nil, err
	}
	if f.state == "" && host != nil {
		f.state = host.State
	}
	store, dir, err := c.past(f.state)
	if err != nil {
		return nil, err
	}
	keys, err := c.keys(host)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.Use(keys)
	return &sitting{&desk.Desk{Store: store, Who: whose(host)}, store, person, known(host, who), dir}, nil
}

// whose says for whom an account may have answered, as the host has it today.
func whose(host *spec.Host) func(login, by string) ([]string, bool) {
	return func(login, by string) ([]string, bool) {
		if host == nil || by == "" {
			return nil, false
		}
		if len(host.People) == 0 {
			return host.Principal.Groups, by == host.Principal.Sub
		}
		for _, p := range host.People {
			if p.Sub == by && (p.Login == login || login == rootLogin) {
				return p.Groups, true
			}
		}
		return nil, false
	}
}

// refusedBy makes the error of an answer that does not count: the exit code is that of a denial.
func refusedBy(err error) error {
	if no, ok := errors.AsType[*desk.Refusal](err); ok {
		return &exitError{exitDenied, no}
	}
	return err
}

func (c *command) asks(ctx context.Context, f approvalsFlags) error {
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	open, bad := s.desk.Questions(ctx)
	if f.json {
		for _, q := range open {
			bad = errors.Join(bad, c.writeJSON(askLine(q)))
		}
		return bad
	}
	look := console.LookOf(c.stdout, c.getenv)
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	now := time.Now()
	for _, q := range open {
		need := fmt.Sprintf("%d more", q.Need)
		switch {
		case q.Refused != "":
			need = "refused by " + q.Refused
		case q.Need == 0:
			need = "approved by " + strings.Join(q.By, ", ")
		}
		state := "waits"
		if !q.Waits {
			state = "asks"
		}
		expires := ""
		if !q.Expires.IsZero() {
			expires = "until " + q.Expires.UTC().Format(time.RFC3339)
		}
		cells := []string{q.ID, now.Sub(q.Asked).Truncate(time.Second).String(), q.Run, state, q.Agent, q.Tool, console.Who(q.Approval), need, expires}
		for i := range cells {
			cells[i] = console.Said(look, cells[i])
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return errors.Join(w.Flush(), bad)
}

func (c *command) showAsk(ctx context.Context, id string, f approvalsFlags) error {
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	q, err := s.desk.Question(ctx, id)
	if err != nil {
		return refusedBy(err)
	}
	if f.json {
		return c.writeJSON(askWhole(q, s.shown(q)))
	}
	ask := s.shown(q)
	ask.Whole = f.whole
	text := strings.TrimPrefix(ask.Text(console.LookOf(c.stdout, c.getenv)), "\n")
	if q.Closed != "" {
		text += "  closed: " + console.Said(console.Look{}, q.Closed) + "\n"
	}
	_, err = c.stdout.WriteString(text)
	return err
}

// shown is a question as the person is shown it.
func (s *sitting) shown(q desk.Question) console.Question {
	return console.Question{
		Question: q.Question, Person: s.person, ID: q.ID, Shown: q.Shown, Need: q.Need, Expires: q.Expires, Masked: q.Masked, Program: q.Program.Text, Author: q.Program.Author,
	}
}

// approve shows a question and asks, or takes the digits that say that it was shown.
func (c *command) approve(ctx context.Context, id string, f approvalsFlags) error {
	until, err := parseUntil(f.until, time.Now())
	if err != nil {
		return err
	}
	scope := desk.Scope{Kind: f.scope.value, Params: f.params, Match: map[string]string{}}
	for _, m := range f.match {
		name, pattern, ok := strings.Cut(m, "=")
		if _, twice := scope.Match[name]; !ok || name == "" || twice {
			return usage("", "--match %q: want name=pattern, each name once", m)
		}
		scope.Match[name] = pattern
	}
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	q, err := s.desk.Question(ctx, id)
	if err != nil {
		return refusedBy(err)
	}
	answer := desk.Answer{By: s.by(), Approve: true, Binding: q.Approval.Binding, Reason: f.reason, Until: until, Scope: scope}
	once := answer
	once.Scope = desk.Scope{}
	if err := s.desk.Check(ctx, q, once); err != nil { // before anybody reads it in vain
		return refusedBy(err)
	}
	shown := s.shown(q)
	if answer.Unseen = shown.Hidden(); len(answer.Unseen) > 0 && !f.unseen {
		return refusedBy(&desk.Refusal{ID: q.ID, Why: "you may not read all of it: " + strings.Join(answer.Unseen, ", ") + "\nhint: --unseen approves it all the same"})
	}
	if len(answer.Unseen) > 0 && scope.Kind != "" { // whether a pattern fits would tell what is there
		return refusedBy(&desk.Refusal{ID: q.ID, Why: "you may not read all of it: it can be approved once, and with no scope: " + strings.Join(answer.Unseen, ", ")})
	}
	if err := s.desk.Check(ctx, q, answer); err != nil {
		return refusedBy(err)
	}
	switch {
	case f.shown != "":
		if len(f.shown) < console.ShownDigits || !strings.HasPrefix(q.Shown, f.shown) {
			return refusedBy(&desk.Refusal{ID: q.ID, Why: fmt.Sprintf("--shown %s: it is not what was shown\nhint: callgate approvals show %s says what it is now", f.shown, q.ID+f.there())})
		}
	case console.IsTerminal(c.stdin) && console.IsTerminal(c.stderr):
		p := console.NewPrompt(c.stdin, c.stderr, console.LookOf(c.stderr, c.getenv), s.person)
		p.Discard = func() { discardTyped(c.stdin) }
		v, err := p.Ask(ctx, shown)
		if err != nil {
			return err
		}
		if v.Outcome != gate.Approved {
			c.say(q.ID + ": not approved; callgate approvals deny refuses it")
			return quit(exitDenied)
		}
	default:
		return usage("callgate approvals show "+q.ID+f.there()+" says the digits", "without a terminal --shown must say what was shown")
	}
	return c.told(ctx, s, q.ID, answer, f.json)
}

// there is what a command line must end with to speak of the same journal and the same people.
func (f approvalsFlags) there() (flags string) {
	if f.state != "" {
		flags += " --state " + word(f.state)
	}
	if f.host != "" {
		flags += " --host " + word(f.host)
	}
	return flags
}

func (c *command) deny(ctx context.Context, id string, f approvalsFlags) error {
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	return c.told(ctx, s, id, desk.Answer{By: s.by(), Reason: f.reason}, f.json)
}

// told keeps an answer, and says what comes of it.
func (c *command) told(ctx context.Context, s *sitting, id string, a desk.Answer, asJSON bool) error {
	g, q, err := s.desk.Answer(ctx, id, a)
	if err != nil {
		return refusedBy(err)
	}
	if asJSON {
		return c.writeJSON(g)
	}
	what := "refused"
	if a.Approve {
		what = "approved"
	}
	_, err = fmt.Fprintf(c.stdout, "%s  %s  %s by %s\n", g.ID, console.Said(console.Look{}, q.ID), what, console.Said(console.Look{}, g.By))
	switch {
	case a.Approve && q.Need > 0:
		c.say(fmt.Sprintf("%d more must approve", q.Need))
	case q.Waits:
		c.say("callgate runs resume " + cmp.Or(q.Root, q.Run) + " --state " + word(s.dir) + " goes on with the run")
	}
	return err
}

func (c *command) grants(ctx context.Context, f approvalsFlags) error {
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	all, err := s.desk.Grants(ctx)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	look := console.LookOf(c.stdout, c.getenv)
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	for _, g := range all {
		g = readable(g, s.person)
		if f.json {
			if err := c.writeJSON(g); err != nil {
				return err
			}
			continue
		}
		scope, state := "this call", ""
		switch {
		case g.Scope != nil && g.Scope.Run == "":
			scope = g.Scope.Kind + ", any run"
		case g.Scope != nil:
			scope = g.Scope.Kind + ", this run"
		}
		switch {
		case g.Verdict == "revoked":
			scope, state = "", g.Revokes
		case g.Revoked != "":
			state = "revoked by " + g.Revoked
		case !g.Expires.IsZero():
			state = "until " + g.Expires.UTC().Format(time.RFC3339)
		}
		cells := []string{g.ID, g.Given.UTC().Format(time.RFC3339), g.Verdict, g.Run + "/" + g.Call + "/" + g.Ask, g.By, scope, state, g.Reason}
		for i := range cells {
			cells[i] = console.Said(look, cells[i])
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return w.Flush()
}

// readable is a grant without the values that a person may not read.
func readable(g desk.Grant, person policies.Principal) desk.Grant {
	g.Binding = "" // a digest without a key, of arguments that not everybody may read
	if g.Scope == nil {
		return g
	}
	scope := *g.Scope
	scope.Args = slices.Clone(scope.Args)
	for i, a := range scope.Args {
		if a.Value != nil && !person.MayRead(a.Value.Deep()) {
			scope.Args[i].Value = nil
		}
	}
	g.Scope = &scope
	return g
}

func (c *command) revoke(ctx context.Context, id string, f approvalsFlags) error {
	s, err := c.sit(f)
	if err != nil {
		return err
	}
	defer s.store.Close()
	g, err := s.desk.Revoke(ctx, id, s.by(), f.reason)
	if err != nil {
		return refusedBy(err)
	}
	if f.json {
		return c.writeJSON(g)
	}
	_, err = fmt.Fprintf(c.stdout, "%s  %s revoked by %s\n", g.ID, g.Revokes, console.Said(console.Look{}, g.By))
	return err
}

// parseUntil reads a time, or how long it is until then.
func parseUntil(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	d, err := spec.ParseDuration(s)
	if err != nil || d <= 0 {
		return time.Time{}, usage("", "--until %s: want a time such as 2h or 2026-12-24T12:00:00Z", s)
	}
	return now.Add(d), nil
}
