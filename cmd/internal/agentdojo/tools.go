package agentdojo

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/spec"
)

// Answerer is a model without tools that is asked about data: what it answers, of the type that was asked for, is as
// trustworthy as the data.
type Answerer func(q Question) any

// Question is what a quarantined model is asked.
type Question struct {
	Text    string
	Data    string
	Type    string // bool, int, number or text
	Options []any  // what a text may be; none: anything
}

// Granted returns the suite's tools if the agent uses them, without a bank behind them: each says then that it has no data. With
// them its files can be checked.
func Granted(p *spec.Project) []*builtins.Tool {
	for _, u := range p.Tools {
		group, _, _ := strings.Cut(u.Name, ".")
		if group == "banking" || group == "quarantined" {
			reader := ""
			if p.Host != nil {
				reader = p.Host.Principal.Sub
			}
			return Tools(nil, nil, reader)
		}
	}
	return nil
}

// Tools returns the suite's tools on a bank, and the quarantined model, with what a bank would declare of them that does not know
// the attacks:
//
//   - What a third party writes is untrusted: the files that were received; of an incoming transaction subject,
//     amount and the flag that it recurs.
//   - The rest is the bank's record of what its customer did, internal: who sent an incoming transaction is what the
//     bank verified, its date is when the bank booked it.
//   - All of it is for the reader alone, the account's owner.
//   - A transaction leaves: who is paid learns amount and subject. So do orders for later, and changes of them.
//   - Account and profile are kept, each under one label: what is written there must be as trusted as what is read.
func Tools(b *Bank, ask Answerer, reader string) []*builtins.Tool {
	readers := label.Only()
	if reader != "" {
		readers = label.Only(reader)
	}
	d := declared{
		own:    label.New(label.Internal, readers, nil),
		others: label.New(label.Untrusted, readers, nil),
	}
	out := slices.Concat(d.reading(b), d.paying(b), d.profile(b), []*builtins.Tool{quarantined(ask)})
	for _, t := range out {
		if b == nil {
			t.Run = func(context.Context, *builtins.Invocation) (any, error) {
				return nil, &builtins.Error{Code: "no-data", Text: "the suite's data are not here: callgate test takes their folder as --data"}
			}
		}
	}
	return out
}

// declared are the labels that the tools declare.
type declared struct{ own, others label.Label }

const transactionSchema = `{"type": "array", "items": {"type": "object", "additionalProperties": false,
	"required": ["id", "sender", "recipient", "amount", "subject", "date", "recurring"], "properties": {
	"id": {"type": "integer"}, "sender": {"type": "string"}, "recipient": {"type": "string"}, "amount": {"type": "number"},
	"subject": {"type": "string"}, "date": {"type": "string"}, "recurring": {"type": "boolean"}}}}`

const messageSchema = `{"type": "object", "additionalProperties": false, "required": ["message"], "properties": {"message": {"type": "string"}}}`

// The schemas of parameters; those that may be left out may be None as well.
const (
	text     = `{"type": "string", "maxLength": 1000}`
	number   = `{"type": "number"}`
	integer  = `{"type": "integer"}`
	yesNo    = `{"type": "boolean"}`
	textNull = `{"type": ["string", "null"], "maxLength": 1000}`
	numNull  = `{"type": ["number", "null"]}`
	yesNull  = `{"type": ["boolean", "null"]}`
)

func schema(s string) json.RawMessage { return json.RawMessage(s) }

func need(name, doc, of, sink string) builtins.Param {
	return builtins.Param{Name: name, Doc: doc, Schema: schema(of), Required: true, Sink: sink}
}

func may(name, doc, of, sink string) builtins.Param {
	return builtins.Param{Name: name, Doc: doc, Schema: schema(of), Sink: sink}
}

// payee makes a parameter the number of an account.
func payee(p builtins.Param) builtins.Param {
	p.Norm = func(x any) (string, string) {
		s, _ := x.(string)
		return strings.ToUpper(strings.ReplaceAll(s, " ", "")), ""
	}
	return p
}

// account is the namespace of what the bank keeps of the account.
func (d declared) account(write bool) *builtins.State {
	return &builtins.State{Name: "account", Write: write, Label: d.own}
}

func (d declared) reading(b *Bank) []*builtins.Tool {
	return []*builtins.Tool{{
		Name: "banking.get_iban", Doc: "The number of the own account.",
		Returns: schema(text), Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: d.own, Of: "account"}, State: d.account(false),
		Run: func(context.Context, *builtins.Invocation) (any, error) { return b.Account.IBAN, nil },
	}, {
		Name: "banking.get_balance", Doc: "The balance of the account.",
		Returns: schema(number), Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: d.own, Of: "account"}, State: d.account(false),
		Run: func(context.Context, *builtins.Invocation) (any, error) { return b.Account.Balance, nil },
	}, {
		Name: "banking.get_most_recent_transactions",
		Doc: "The last n transactions, oldest first: dicts with id, sender, recipient, amount, subject, date (\"2022-03-01\") and recurring. The owner is \"me\".\n" +
			"Of an incoming one subject, amount and recurring are what its sender wrote, and untrusted.",
		Params:  []builtins.Param{may("n", "How many. Default: 100.", integer, "none")},
		Returns: schema(transactionSchema), Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: d.own, Of: "transactions"}, State: d.account(false),
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			n, ok := in.Args["n"].(int64)
			if !ok {
				n = 100
			}
			out := []any{}
			for _, t := range b.last(n) {
				out = append(out, d.plain(t, b.incoming(t)))
			}
			return out, nil
		},
	}, {
		Name:    "banking.get_scheduled_transactions",
		Doc:     "The standing orders and other transactions to come: dicts as of get_most_recent_transactions. Their id is for update_scheduled_transaction.",
		Returns: schema(transactionSchema), Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: d.own, Of: "standing orders"}, State: d.account(false),
		Run: func(context.Context, *builtins.Invocation) (any, error) {
			out := []any{}
			for _, t := range b.standing() {
				out = append(out, d.plain(t, false))
			}
			return out, nil
		},
	}, {
		Name: "banking.read_file", Doc: "The text of a file that the customer received; \"\" if there is none.",
		Params:  []builtins.Param{need("file_path", "Its name.", text, "path")},
		Returns: schema(`{"type": "string"}`), Effects: builtins.Read, Idempotent: true,
		Label: builtins.Source{Class: d.others, Of: "file {args.file_path}"},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			return b.Filesystem.Files[builtins.Arg[string](in, "file_path")], nil
		},
	}}
}

// plain is a transaction as programs see it; of one that somebody else made, what they wrote is untrusted.
func (d declared) plain(t Transaction, incoming bool) map[string]any {
	out := map[string]any{
		"id": t.ID, "sender": t.Sender, "recipient": t.Recipient, "amount": t.Amount, "subject": t.Subject, "date": t.Date, "recurring": t.Recurring,
	}
	if incoming {
		out["amount"], out["subject"] = value.FloatOf(t.Amount, d.others), value.StringOf(t.Subject, d.others)
		out["recurring"] = value.BoolOf(t.Recurring, d.others)
	}
	return out
}

func (d declared) paying(b *Bank) []*builtins.Tool {
	return []*builtins.Tool{{
		Name: "banking.send_money", Doc: "Pay now.",
		Params: []builtins.Param{
			payee(need("recipient", "The account to pay to.", text, "account")), need("amount", "How much.", number, "none"),
			need("subject", "What the payee reads.", text, "content"), need("date", "When, such as 2022-04-01.", text, "none"),
		},
		Returns: schema(messageSchema), Effects: builtins.Write | builtins.Egress | builtins.Destructive,
		Label: builtins.Source{Class: d.own, Of: "account"}, State: d.account(true),
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			t := transaction(in)
			b.pay(t)
			return message("Transaction to %s for %s sent.", t.Recipient, python(t.Amount)), nil
		},
	}, {
		Name: "banking.schedule_transaction", Doc: "Order a payment for later, once or again and again.",
		Params: []builtins.Param{
			payee(need("recipient", "The account to pay to.", text, "account")), need("amount", "How much.", number, "none"),
			need("subject", "What the payee reads.", text, "content"), need("date", "When first, such as 2022-04-01.", text, "none"),
			need("recurring", "Whether it is made again and again.", yesNo, "none"),
		},
		Returns: schema(messageSchema), Effects: builtins.Write | builtins.Egress,
		Label: builtins.Source{Class: d.own, Of: "account"}, State: d.account(true),
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			t := transaction(in)
			b.schedule(t)
			return message("Transaction to %s for %s scheduled.", t.Recipient, python(t.Amount)), nil
		},
	}, {
		Name: "banking.update_scheduled_transaction",
		Doc:  "Change a payment to come. What is left out, None, 0, \"\" or False stays as it is.",
		Params: []builtins.Param{
			need("id", "Which one.", integer, "query"),
			payee(may("recipient", "The account to pay to.", textNull, "account")), may("amount", "How much.", numNull, "none"),
			may("subject", "What the payee reads.", textNull, "content"), may("date", "When.", textNull, "none"),
			may("recurring", "Whether it is made again and again.", yesNull, "none"),
		},
		Returns: schema(messageSchema), Effects: builtins.Write | builtins.Egress,
		Label: builtins.Source{Class: d.own, Of: "account"}, State: d.account(true),
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			t := transaction(in)
			t.ID = builtins.Arg[int64](in, "id")
			if !b.change(t) {
				return nil, &builtins.Error{Code: "not-found", Text: fmt.Sprintf("Transaction with ID %d not found.", t.ID)}
			}
			return message("Transaction with ID %d updated.", t.ID), nil
		},
	}}
}

func transaction(in *builtins.Invocation) Transaction {
	t := Transaction{
		Recipient: builtins.Arg[string](in, "recipient"), Subject: builtins.Arg[string](in, "subject"),
		Date: builtins.Arg[string](in, "date"), Recurring: builtins.Arg[bool](in, "recurring"),
	}
	switch n := in.Args["amount"].(type) {
	case float64:
		t.Amount = n
	case int64:
		t.Amount = float64(n)
	}
	return t
}

func message(format string, args ...any) map[string]any {
	return map[string]any{"message": fmt.Sprintf(format, args...)}
}

// python is a float as Python prints it.
func python(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if f == float64(int64(f)) && f < 1e16 && f > -1e16 {
		s = strconv.FormatFloat(f, 'f', 1, 64)
	}
	return s
}

func (d declared) profile(b *Bank) []*builtins.Tool {
	state := func(write bool) *builtins.State { return &builtins.State{Name: "profile", Write: write, Label: d.own} }
	of := builtins.Source{Class: d.own, Of: "profile"}
	const profileSchema = `{"type": "object", "additionalProperties": {"type": "string"}}`
	return []*builtins.Tool{{
		Name: "banking.get_user_info", Doc: "Who the customer is: first_name, last_name, street, city.",
		Returns: schema(profileSchema), Effects: builtins.Read, Idempotent: true, Label: of, State: state(false),
		Run: func(context.Context, *builtins.Invocation) (any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.profile(), nil
		},
	}, {
		Name: "banking.update_user_info", Doc: "Change who the customer is. What is left out, None or \"\" stays as it is.",
		Params: []builtins.Param{
			may("first_name", "", textNull, "content"), may("last_name", "", textNull, "content"),
			may("street", "", textNull, "content"), may("city", "", textNull, "content"),
		},
		Returns: schema(profileSchema), Effects: builtins.Write, Label: of, State: state(true),
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			overwrite(&b.User.First, builtins.Arg[string](in, "first_name"))
			overwrite(&b.User.Last, builtins.Arg[string](in, "last_name"))
			overwrite(&b.User.Street, builtins.Arg[string](in, "street"))
			overwrite(&b.User.City, builtins.Arg[string](in, "city"))
			return b.profile(), nil
		},
	}, {
		Name: "banking.update_password", Doc: "Change the password. The old one is not asked for.",
		Params:  []builtins.Param{need("password", "The new one.", text, "secret")},
		Returns: schema(messageSchema), Effects: builtins.Write | builtins.Destructive, Label: of,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.User.Password = builtins.Arg[string](in, "password")
			return message("Password updated."), nil
		},
	}}
}

// quarantined is the model without tools: a stand-in that plays answers. Its answer has the label of what it was asked about, and the
// type that was asked for.
func quarantined(ask Answerer) *builtins.Tool {
	return &builtins.Tool{
		Name: "quarantined.ask",
		Doc: "Ask a model that sees nothing but the question and the data, and can do nothing. The answer is as trustworthy as the data.\n" +
			"type is bool, int, number or text. With options a text is one of them.",
		Params: []builtins.Param{
			need("question", "", text, "model"), need("data", "What it is about.", `{}`, "model"),
			need("type", "", `{"enum": ["bool", "int", "number", "text"]}`, "none"),
			may("options", "", `{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 256}`, "none"),
		},
		Returns: schema(`{"type": ["boolean", "integer", "number", "string"]}`), Effects: builtins.Read, Idempotent: true, Derives: true,
		Label: builtins.Source{Class: label.Bottom(), Of: "quarantined model"},
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			data, ok := in.Args["data"].(string)
			if !ok {
				b, err := json.Marshal(in.Args["data"])
				if err != nil {
					return nil, err
				}
				data = string(b)
			}
			q := Question{builtins.Arg[string](in, "question"), data, builtins.Arg[string](in, "type"), builtins.Arg[[]any](in, "options")}
			return q.check(ask(q))
		},
	}
}

// check refuses an answer that is not of the type that was asked for.
func (q Question) check(answer any) (any, error) {
	ok := false
	switch q.Type {
	case "bool":
		_, ok = answer.(bool)
	case "int":
		_, ok = answer.(int64)
	case "number":
		_, ok = answer.(float64)
	case "text":
		_, ok = answer.(string)
		ok = ok && (q.Options == nil || slices.Contains(q.Options, answer))
	}
	if !ok {
		return nil, &builtins.Error{Code: "no-answer", Text: "the model has no answer of type " + q.Type}
	}
	return answer, nil
}

// Recorded is how a question is answered: by the first entry whose pattern is found in the data, with what the pattern's
// group caught, or with a fixed answer. So the answers are recorded, and the data are not.
type Recorded struct {
	Question string `json:"question"`
	Answers  []struct {
		Match  string `json:"match"`
		Answer any    `json:"answer"` // nil: what the group caught
	} `json:"answers"`
}

// play returns what answers as was recorded.
func play(all []Recorded) (Answerer, error) {
	type answer struct {
		match *regexp.Regexp
		fixed any
	}
	known := map[string][]answer{}
	for _, r := range all {
		for _, a := range r.Answers {
			re, err := regexp.Compile(a.Match)
			if err != nil {
				return nil, fmt.Errorf("question %q: %w", r.Question, err)
			}
			known[r.Question] = append(known[r.Question], answer{re, a.Answer})
		}
	}
	return func(q Question) any {
		for _, a := range known[q.Text] {
			found := a.match.FindStringSubmatch(q.Data)
			switch {
			case found == nil:
			case a.fixed != nil:
				return a.fixed
			case len(found) > 1:
				return q.read(found[1])
			}
		}
		return nil
	}, nil
}

// read makes an answer of what stands in the data.
func (q Question) read(s string) any {
	switch q.Type {
	case "int":
		if n, err := strconv.ParseFloat(s, 64); err == nil && n == float64(int64(n)) {
			return int64(n)
		}
	case "number":
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
	case "text":
		return s
	}
	return nil
}
