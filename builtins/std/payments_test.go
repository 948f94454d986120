package std

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
)

const ledgerSQL = `
CREATE TABLE orders (id TEXT PRIMARY KEY, vendor TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL);
CREATE TABLE payments (order_id TEXT NOT NULL UNIQUE, iban TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, memo TEXT NOT NULL, paid_at TEXT NOT NULL, call_key TEXT NOT NULL);
INSERT INTO orders VALUES ('PO-1', 'V-1', 124000, 'EUR', 'open'), ('PO-2', 'V-2', 500, 'EUR', 'open'), ('PO-3', 'V-2', 700, 'EUR', 'closed');
`

const iban, otherIBAN = "GB82WEST12345698765432", "DE89370400440532013000"

func ledgerKit(t *testing.T) (*kit, Env) {
	t.Helper()
	env := place(t, map[string]string{"l.sql": ledgerSQL})
	return build(t, "payments", env, map[string]any{"database": "l.db", "seed": "l.sql"}), env
}

func TestPay(t *testing.T) {
	k, env := ledgerKit(t)
	open := `{"id": "PO-2", "vendor": "V-2", "amount": 500, "currency": "EUR", "status": "open"}`
	if got := k.must("payments.orders", nil); got != `[{"id": "PO-1", "vendor": "V-1", "amount": 124000, "currency": "EUR", "status": "open"}, `+open+`]` {
		t.Errorf("open orders: %s", got)
	}
	first := `{"amount": 124000, "currency": "EUR", "iban": "` + iban + `", "memo": "PO-1", "order": "PO-1", "paid_at": "2026-12-01T10:00:00Z", "repeated": False}`
	pay := func(order, iban string, amount any, memo string) map[string]any {
		return map[string]any{"order": order, "iban": iban, "amount": amount, "memo": memo}
	}
	for _, test := range []struct {
		name string
		key  string
		args map[string]any
		want string
	}{
		{"no such order", "a", pay("PO-9", iban, 1, ""), "no-such-order"},
		{"no account number", "a", pay("PO-1", "my account", 1, ""), "invalid-iban"},
		{"a wrong check digit", "a", pay("PO-1", "GB83WEST12345698765432", 1, ""), "invalid-iban"},
		{"more than was ordered", "a", pay("PO-1", iban, 124001, ""), "amount-too-high"},
		{"nothing", "a", pay("PO-1", iban, 0, ""), "payments.pay: amount: want at least 1"},
		{"less than nothing", "a", pay("PO-1", iban, -5, ""), "payments.pay: amount: want at least 1"},
		{"a float", "a", pay("PO-1", iban, 1240.0, ""), "payments.pay: amount: got float, want int"},
		{"the order's amount", "a", pay("PO-1", "gb82 west 1234 5698 7654 32", 124000, ""), first},
		{"a second try of the same call", "a", pay("PO-1", iban, 124000, ""), first},
		{"the same payment by another call", "b", pay("PO-1", iban, 124000, "PO-1"), strings.Replace(first, "False", "True", 1)},
		{"to another account", "c", pay("PO-1", otherIBAN, 124000, ""), "already-paid"},
		{"of another amount", "c", pay("PO-1", iban, 100, ""), "already-paid"},
		{"with another memo", "c", pay("PO-1", iban, 124000, "x"), "already-paid"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k.t, k.key = t, test.key
			got := ""
			if strings.HasPrefix(test.want, "{") {
				got = k.must("payments.pay", test.args)
			} else {
				got = k.fails("payments.pay", test.args)
			}
			if got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
	k.t = t
	if got := k.must("payments.orders", nil); got != "["+open+"]" {
		t.Errorf("open orders: %s", got)
	}
	if got := k.must("payments.orders", map[string]any{"paid": true}); strings.Count(got, `"status": "paid"`) != 1 || strings.Contains(got, "PO-3") {
		t.Errorf("orders: %s", got)
	}
	if got := k.must("payments.list", nil); got != "["+first+"]" {
		t.Errorf("payments: %s", got)
	}
	v, err := k.call("payments.orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Deep(); got.String() != "internal/{ana@corp.example}" || got.Explain(9) != "payments.orders ledger" {
		t.Errorf("labelled %s from %s", got, got.Explain(9))
	}
	// sql and payments on one database are one state.
	sql := build(t, "sql", env, map[string]any{"database": "./l.db"})
	if a, b := sql.tools["sql.query"].State.Name, k.tools["payments.pay"].State.Name; a != b {
		t.Errorf("states %s and %s", a, b)
	}
}

// Of many calls that pay one order at once, one pays, whatever the others want.
func TestAnOrderIsPaidOnce(t *testing.T) {
	k, env := ledgerKit(t)
	other := build(t, "payments", env, map[string]any{"database": "l.db"})
	var wg sync.WaitGroup
	var mu sync.Mutex
	paid := 0
	for i := range 12 {
		wg.Go(func() {
			by, to := k, iban
			if i%2 == 1 {
				by, to = other, otherIBAN
			}
			v, err := by.call("payments.pay", map[string]any{"order": "PO-1", "iban": to, "amount": 100 + i})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				paid++
				return
			}
			if !strings.Contains(err.Error(), "paid already") {
				t.Errorf("got %s, %v", v.Text(), err)
			}
		})
	}
	wg.Wait()
	if paid != 1 {
		t.Errorf("%d of 12 paid", paid)
	}
	if got := k.must("payments.list", nil); strings.Count(got, "PO-1") != 2 { // the order and the memo
		t.Errorf("payments: %s", got)
	}
}

func TestACancelledPaymentIsNotMade(t *testing.T) {
	k, _ := ledgerKit(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.ctx = ctx
	if _, err := k.call("payments.pay", map[string]any{"order": "PO-1", "iban": iban, "amount": 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	k.ctx = t.Context()
	if got := k.must("payments.list", nil); got != "[]" {
		t.Errorf("payments: %s", got)
	}
}

func TestALedgerMustKeepOrdersFromBeingPaidTwice(t *testing.T) {
	env := place(t, map[string]string{"l.sql": strings.Replace(ledgerSQL, " UNIQUE", "", 1)})
	_, err := Lookup("payments").Build(t.Context(), env, map[string]any{"database": "l.db", "seed": "l.sql"})
	if err == nil || err.Error() != "payments: option database: want a UNIQUE constraint on payments(order_id)" {
		t.Errorf("got %v", err)
	}
}
