package std

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"callgate/builtins"
	"callgate/engine/label"
)

const maxMails = 2000

func mailSet() set {
	return set{
		Factory{
			Name: "mail",
			Doc:  "Read a folder of .eml files, and write mails to an outbox folder. Nothing goes over the network.",
			Options: append([]builtins.Param{
				{Name: "root", Doc: "The folder of mails, relative to the agent file.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true},
				{Name: "listing", Doc: "Trust in which mails there are, and in their ids. Anything above untrusted assumes that nobody outside decides what is in the folder, and under which name. Default: untrusted.",
					Schema: schema(`{"enum": ["untrusted", "internal", "user", "system"]}`)},
				{Name: "outbox", Doc: "The folder that mail.send writes to, relative to the state folder. Default: ./outbox.", Schema: schema(`{"type": "string", "minLength": 1}`)},
				{Name: "drafts", Doc: "The folder that mail.draft writes to, relative to the state folder. Default: ./drafts.", Schema: schema(`{"type": "string", "minLength": 1}`)},
				{Name: "from", Doc: "The sender's address. Default: the principal.", Schema: schema(`{"type": "string", "minLength": 1}`)},
				{Name: "max_size", Doc: "The most that a mail may be that is read or written, such as 1MiB. Default: 5MiB."},
			}, labelOptions("untrusted")...),
			build: buildMail,
		},
		[]string{"mail.list", "mail.read", "mail.search", "mail.send", "mail.draft"},
	}
}

func buildMail(_ context.Context, b *builder) (*Toolset, error) {
	if _, ok := b.in.Args["max_size"]; !ok {
		b.in.Args["max_size"] = int64(5 << 20)
	}
	box := &mailbox{content: b.label(label.Untrusted), listing: b.label(label.Untrusted).WithTrust(label.Untrusted)}
	if s, ok := b.in.Args["listing"].(string); ok {
		trust, _ := label.ParseTrust(s) // one of the schema's enum
		box.listing = box.listing.WithTrust(trust)
	}
	ts := &Toolset{Close: box.close}
	if box.folder = b.folder("root", b.text("root", ""), false); box.folder == nil {
		return nil, nil
	}
	ts.Tools, ts.Places = box.readers(), []Place{box.folder.place(box.content, false)}
	if b.tool == "" || b.tool == "mail.send" || b.tool == "mail.draft" {
		from, _ := builtins.NormAddress(b.text("from", b.env.Principal))
		if from == "" {
			b.fail("from", "want one e-mail address; the principal is none")
		}
		box.from = from
		box.outbox = b.folder("outbox", b.text("outbox", "./outbox"), true)
		box.drafts = b.folder("drafts", b.text("drafts", "./drafts"), true)
		ts.Tools = append(ts.Tools, box.writers()...)
		for _, f := range []*folder{box.outbox, box.drafts} {
			if f != nil {
				ts.Places = append(ts.Places, f.place(label.Top(), true))
			}
		}
	}
	return ts, nil
}

// mailbox is a folder of mails, and the folders that mails are written to.
type mailbox struct {
	folder, outbox, drafts *folder
	from                   string
	content, listing       label.Label
}

func (m *mailbox) close() error {
	var errs []error
	for _, f := range []*folder{m.folder, m.outbox, m.drafts} {
		if f != nil {
			errs = append(errs, f.root.Close())
		}
	}
	return errors.Join(errs...)
}

const (
	rowSchema = `{"type": "object", "additionalProperties": false, "required": ["id", "from", "from_name", "to", "subject", "date", "size", "attachments", "error"], "properties": {
		"id": {"type": "string"}, "from": {"type": "string"}, "from_name": {"type": "string"}, "to": {"type": "array", "items": {"type": "string"}},
		"subject": {"type": "string"}, "date": {"type": "string"}, "size": {"type": "integer"}, "attachments": {"type": "array", "items": {"type": "string"}},
		"error": {"enum": ["", "malformed", "too-large", "not-a-file", "io"]}}}`
	messageSchema = `{"type": "object", "additionalProperties": false, "required": ["id", "from", "from_name", "to", "cc", "subject", "date", "body", "attachments", "truncated"], "properties": {
		"id": {"type": "string"}, "from": {"type": "string"}, "from_name": {"type": "string"}, "to": {"type": "array", "items": {"type": "string"}}, "cc": {"type": "array", "items": {"type": "string"}},
		"subject": {"type": "string"}, "date": {"type": "string"}, "body": {"type": "string"}, "truncated": {"type": "boolean"},
		"attachments": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["name", "type", "size", "text"], "properties": {
			"name": {"type": "string"}, "type": {"type": "string"}, "size": {"type": "integer"}, "text": {"type": "string"}}}}}}`
)

// fields labels what a sender wrote as content, below a prefix, so that an explanation can
// name the field. The rest, which is the id, is as trusted as the listing.
func (m *mailbox) fields(prefix string, names ...string) []builtins.FieldSource {
	var out []builtins.FieldSource
	for _, n := range names {
		out = append(out, builtins.FieldSource{Path: prefix + "." + n, Class: m.content})
	}
	return out
}

func (m *mailbox) readers() []*builtins.Tool {
	row := []string{"from", "from_name", "to", "subject", "date", "size", "attachments", "error"}
	return []*builtins.Tool{{
		Name: "mail.list",
		Doc: "List all mails, by id: dicts with id, from (an address), from_name, to, subject, date, size in bytes, attachments (names) and error.\n" +
			"A mail that cannot be read has an error, such as \"malformed\", and empty fields. mail.read gives the text.",
		Returns:    schema(`{"type": "array", "items": ` + rowSchema + `}`),
		Effects:    builtins.Read,
		Label:      builtins.Source{Class: m.listing, Of: "{item.id}", Fields: m.fields("[]", row...)},
		Idempotent: true,
		Run: func(ctx context.Context, _ *builtins.Invocation) (any, error) {
			return m.list(ctx, func(*message) bool { return true })
		},
	}, {
		Name: "mail.read",
		Doc: "Return one mail: a dict with id, from (an address), from_name, to, cc, subject, date, body (text), attachments (dicts with name, type, size, text) and truncated.\n" +
			"Fails with not-found, malformed, too-large, not-a-file or invalid-path.",
		Params:  []builtins.Param{{Name: "id", Doc: "As mail.list gives it.", Schema: schema(`{"type": "string", "minLength": 1}`), Required: true, Sink: "none"}},
		Returns: schema(messageSchema),
		Effects: builtins.Read,
		Label: builtins.Source{
			Class: m.listing, Of: "{args.id}",
			Fields: m.fields("", "from", "from_name", "to", "cc", "subject", "date", "body", "attachments", "truncated"),
		},
		Idempotent: true,
		Run: func(_ context.Context, in *builtins.Invocation) (any, error) {
			return m.read(builtins.Arg[string](in, "id"))
		},
	}, {
		Name: "mail.search",
		Doc:  "List the mails in whose sender, subject, text or attachments a text occurs, in any case: dicts as mail.list gives them.",
		Params: []builtins.Param{
			{Name: "text", Doc: "The text to look for.", Schema: schema(`{"type": "string", "minLength": 1, "maxLength": 200}`), Required: true, Sink: "none"},
		},
		Returns: schema(`{"type": "array", "items": ` + rowSchema + `}`),
		Effects: builtins.Read,
		// Which mails are found is up to those who wrote them.
		Label: builtins.Source{
			Class: m.content, Of: "{item.id}",
			Fields: append(m.fields("[]", row...), builtins.FieldSource{Path: "[].id", Class: m.listing}),
		},
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			text := strings.ToLower(builtins.Arg[string](in, "text"))
			return m.list(ctx, func(msg *message) bool { return msg.mentions(text) })
		},
	}}
}

// list returns the mails that want accepts; those that cannot be read are listed if want accepts
// an empty one.
func (m *mailbox) list(ctx context.Context, want func(*message) bool) (any, error) {
	entries, err := m.folder.list(ctx, ".", false)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, e := range entries {
		if !isMail(e.path) || e.kind == "folder" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		msg, code, err := m.load(e.path)
		if err != nil {
			return nil, err
		}
		if !want(msg) {
			continue
		}
		if len(out) == maxMails {
			return nil, fail("too-large", "more than %d mails", maxMails)
		}
		names := []any{}
		for _, a := range msg.attachments {
			names = append(names, a.name)
		}
		out = append(out, map[string]any{
			"id": e.path, "from": msg.from, "from_name": msg.fromName, "to": orEmpty(msg.to), "subject": msg.subject,
			"date": msg.date, "size": e.size, "attachments": names, "error": code,
		})
	}
	return out, nil
}

// load reads one mail of a listing. One that cannot be read is empty and has a code.
func (m *mailbox) load(name string) (msg *message, code string, err error) {
	data, err := m.folder.read(name)
	if err == nil {
		msg, err = parseMessage(data)
	}
	switch known, ok := errors.AsType[*builtins.Error](err); {
	case err == nil:
		return msg, "", nil
	case errors.Is(err, errMalformed):
		code = "malformed"
	case ok && (known.Code == "too-large" || known.Code == "not-a-file"):
		code = known.Code
	case ok:
		code = "io"
	default:
		return nil, "", err
	}
	return &message{}, code, nil
}

func (m *mailbox) read(id string) (any, error) {
	if !isMail(id) || strings.ContainsAny(id, `/\`) {
		return nil, fail("not-found", "mail %.80q: not there; mail.list gives the ids", id)
	}
	data, err := m.folder.read(id)
	if err != nil {
		return nil, err
	}
	msg, err := parseMessage(data)
	if errors.Is(err, errMalformed) {
		return nil, fail("malformed", "mail %q: %v", id, err)
	}
	if err != nil {
		return nil, err
	}
	attachments := []any{}
	for _, a := range msg.attachments {
		attachments = append(attachments, map[string]any{"name": a.name, "type": a.mediaType, "size": a.size, "text": a.text})
	}
	return map[string]any{
		"id": id, "from": msg.from, "from_name": msg.fromName, "to": orEmpty(msg.to), "cc": orEmpty(msg.cc), "subject": msg.subject,
		"date": msg.date, "body": msg.body, "attachments": attachments, "truncated": msg.truncated,
	}, nil
}

func isMail(name string) bool {
	return strings.EqualFold(path.Ext(name), ".eml") && !strings.HasPrefix(name, ".")
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (msg *message) mentions(lower string) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), lower) }
	if in(msg.from) || in(msg.fromName) || in(msg.subject) || in(msg.body) {
		return true
	}
	for _, a := range msg.attachments {
		if in(a.name) || in(a.text) {
			return true
		}
	}
	return false
}

func (m *mailbox) writers() []*builtins.Tool {
	list := `{"anyOf": [{"type": "string"}, {"type": "array", "maxItems": 100, "items": {"type": "string"}}]}`
	to := `{"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string"}}]}`
	params := func(sink string) []builtins.Param {
		return []builtins.Param{
			{Name: "to", Doc: "One address, or a list of them.", Schema: schema(to), Required: true, Sink: sink, Norm: builtins.NormAddress},
			{Name: "subject", Schema: schema(`{"type": "string", "maxLength": 250}`), Required: true, Sink: "content"},
			{Name: "body", Doc: "Plain text.", Schema: schema(textSchema), Required: true, Sink: "content"},
			{Name: "cc", Doc: "As to.", Schema: schema(list), Sink: sink, Norm: builtins.NormAddress},
			{Name: "bcc", Doc: "As to.", Schema: schema(list), Sink: sink, Norm: builtins.NormAddress},
			{Name: "attachments", Doc: "Dicts with name, text and, unless it is text/plain, type.", Sink: "content",
				Schema: schema(`{"type": "array", "maxItems": 20, "items": {"type": "object", "additionalProperties": false, "required": ["name", "text"], "properties": {
					"name": {"type": "string", "minLength": 1, "maxLength": 100}, "text": {"type": "string"}, "type": {"type": "string"}}}}`)},
		}
	}
	written := schema(`{"type": "object", "additionalProperties": false, "required": ["id", "recipients"], "properties": {
		"id": {"type": "string"}, "recipients": {"type": "array", "items": {"type": "string"}}}}`)
	write := func(to *folder) func(context.Context, *builtins.Invocation) (any, error) {
		return func(ctx context.Context, in *builtins.Invocation) (any, error) { return m.write(ctx, to, in) }
	}
	// Nothing reads the outbox and the drafts back, and what these tools return is the caller's own
	// arguments: the namespace takes everything, the answer depends on nothing else.
	answer := builtins.Source{Class: label.Bottom()}
	return []*builtins.Tool{{
		Name:       "mail.send",
		Doc:        "Send a mail. Returns its id and all its recipients.\nFails with invalid-address, invalid or too-large.",
		Params:     params("recipient"),
		Returns:    written,
		Effects:    builtins.Write | builtins.Egress,
		Label:      answer,
		Idempotent: true,
		Run:        write(m.outbox),
	}, {
		Name:       "mail.draft",
		Doc:        "Write a mail to the folder of drafts, for a person to look at and send. Takes and returns what mail.send does.",
		Params:     params("none"),
		Returns:    written,
		Effects:    builtins.Write,
		Label:      answer,
		Idempotent: true,
		Run:        write(m.drafts),
	}}
}

// write makes the file of a mail. In a second try of the same call it is there already.
func (m *mailbox) write(ctx context.Context, to *folder, in *builtins.Invocation) (any, error) {
	d, err := compose(m.from, in)
	if err != nil {
		return nil, err
	}
	id := d.id()
	answer := map[string]any{"id": id, "recipients": append(append(orEmpty(d.to), d.cc...), d.bcc...)}
	if _, err := to.root.Lstat(id); err == nil {
		return answer, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, broken(id, err)
	}
	data, err := d.eml(id)
	if err != nil {
		return nil, err
	}
	if _, err := to.write(ctx, id, data, false); err != nil {
		return nil, err
	}
	return answer, nil
}
