package std

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/builtins"
	"callgate/engine/value"
)

// The data of the invoices example, read by the tools that its agent uses.
func TestInvoicesExample(t *testing.T) {
	dir, err := filepath.Abs("../../examples/invoices")
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Dir: dir, State: t.TempDir(), Principal: "ana@corp.example"}
	mails := build(t, "mail", env, map[string]any{"root": "./mail", "listing": "internal"})
	vendors := build(t, "csv", env, map[string]any{"root": "./purchasing", "trust": "internal"})
	ledger := build(t, "payments", env, map[string]any{"database": "./ledger.db", "seed": "./ledger.sql"})

	text := func(v value.Value, key string) string { e, _ := v.Get(key); return e.Str }
	accounts := map[string]string{}
	rows, err := vendors.call("csv.read", map[string]any{"path": "vendors.csv"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows.Items {
		iban, _ := builtins.NormIBAN(text(r, "iban"))
		if iban == "" || iban != text(r, "iban") {
			t.Errorf("vendor %s: %q is no IBAN in its normal form", text(r, "id"), text(r, "iban"))
		}
		if norm, _ := builtins.NormAddress(text(r, "mail")); norm != text(r, "mail") {
			t.Errorf("vendor %s: %q is no address in its normal form", text(r, "id"), text(r, "mail"))
		}
		accounts[text(r, "id")] = iban
	}

	list, err := mails.call("mail.list", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) < 10 {
		t.Errorf("there are %d mails, want at least 10", len(list.Items))
	}
	bodies := map[string]string{}
	var ids []string
	for _, m := range list.Items {
		id := text(m, "id")
		mail, err := mails.call("mail.read", map[string]any{"id": id})
		if err != nil {
			t.Fatal(err)
		}
		if text(mail, "from") == "" || text(mail, "date") == "" || strings.Contains(text(mail, "body"), "\ufffd") || text(m, "error") != "" {
			t.Errorf("%s: from %q, date %q, body %q", id, text(mail, "from"), text(mail, "date"), text(mail, "body"))
		}
		if truncated, _ := mail.Get("truncated"); truncated.Bool {
			t.Errorf("%s is not whole", id)
		}
		bodies[id], ids = text(mail, "body"), append(ids, id)
	}

	// Each order's invoice: the first mail that names the order and a total.
	orders, err := ledger.call("payments.orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range orders.Items {
		id := text(o, "id")
		amount, _ := o.Get("amount")
		got[id] = "no invoice"
		for _, mail := range ids {
			total, ok := totalOf(bodies[mail])
			if !ok || !strings.Contains(bodies[mail], id) {
				continue
			}
			got[id] = mail + " differs"
			if total == amount.Int.String() {
				got[id] = mail + " agrees"
			}
			if spaced := strings.ReplaceAll(bodies[mail], " ", ""); !strings.Contains(spaced, accounts[text(o, "vendor")]) {
				t.Errorf("%s: %s names another account than the vendor file", id, mail)
			}
			break
		}
	}
	want := map[string]string{
		"PO-1001": "01-acme.eml agrees", "PO-1002": "02-northwind.eml agrees", "PO-1003": "03-boulanger.eml agrees", "PO-1004": "05-mueller.eml agrees",
		"PO-1005": "06-delta.eml differs", "PO-1006": "07-orbital.eml agrees", "PO-1007": "no invoice", "PO-1008": "10-delta.eml agrees",
	}
	for id := range want {
		if got[id] != want[id] {
			t.Errorf("%s: %s, want %s", id, got[id], want[id])
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d orders, want %d", len(got), len(want))
	}

	// The two attacks name accounts that are valid and in no vendor file.
	for mail, iban := range map[string]string{"04-urgent.eml": "LT500000011101001234", "09-assistant.eml": "MT10ZZZZ00000000000000000098765"} {
		if norm, _ := builtins.NormIBAN(iban); norm == "" || !strings.Contains(strings.ReplaceAll(bodies[mail], " ", ""), iban) {
			t.Errorf("%s does not name the valid account %s", mail, iban)
		}
		for id, known := range accounts {
			if known == iban {
				t.Errorf("%s names the account of vendor %s", mail, id)
			}
		}
	}
}

// totalOf returns the digits of the line that holds the word Total.
func totalOf(body string) (string, bool) {
	for line := range strings.SplitSeq(body, "\n") {
		_, amount, ok := strings.Cut(line, "Total")
		if !ok {
			continue
		}
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r
			}
			return -1
		}, amount), true
	}
	return "", false
}
