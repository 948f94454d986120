package std

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/builtins"
	"callgate/engine/label"
)

// The ledger's tables, as far as payments needs them. Amounts are integers in the currency's smallest unit.
const (
	orderColumns   = "id, vendor, amount, currency, status"
	paymentColumns = "order_id, iban, amount, currency, memo, paid_at, call_key"
)

func paymentsSet() set {
	return set{
		Factory{
			Name: "payments",
			Doc:  "Pay the orders of a ledger: a SQLite database with the tables orders and payments. Amounts are integers in cents.",
			// The ledger is the payer's own book, so its trust is internal unless declared otherwise.
			Options: databaseOptions("internal"),
			build:   buildPayments,
		},
		[]string{"payments.orders", "payments.list", "payments.pay"},
	}
}

func buildPayments(ctx context.Context, b *builder) (*Toolset, error) {
	db := b.database(ctx)
	if db == nil {
		return nil, nil
	}
	conn, err := db.open(writing, nil)
	if err != nil {
		return nil, err
	}
	ledger := &ledger{conn}
	if err := ledger.check(ctx); err != nil {
		b.failed("database", err)
	}
	l := b.label(label.Internal)
	return &Toolset{ledger.tools(db, l), conn.Close, []Place{db.place(l, true)}}, nil
}

// ledger is a database of orders and of the payments made for them: one payment an order.
type ledger struct{ db *sql.DB }

// check looks for the tables and for the constraint that nothing is paid twice.
func (l *ledger) check(ctx context.Context) error {
	for table, columns := range map[string]string{"orders": orderColumns, "payments": paymentColumns} {
		rows, err := l.db.QueryContext(ctx, "SELECT "+columns+" FROM "+table+" LIMIT 0")
		if err != nil {
			return fmt.Errorf("want a table %s with the columns %s: %w", table, columns, err)
		}
		rows.Close()
	}
	var unique int
	err := l.db.QueryRowContext(ctx, `SELECT count(*) FROM pragma_index_list('payments') AS i
		WHERE i."unique" AND (SELECT group_concat(name) FROM pragma_index_info(i.name)) = 'order_id'`).Scan(&unique)
	if err == nil && unique == 0 {
		err = errors.New("want a UNIQUE constraint on payments(order_id)")
	}
	return err
}

const (
	orderSchema = `{"type": "object", "additionalProperties": false, "required": ["id", "vendor", "amount", "currency", "status"], "properties": {
		"id": {"type": "string"}, "vendor": {"type": "string"}, "amount": {"type": "integer"}, "currency": {"type": "string"}, "status": {"type": "string"}}}`
	paymentSchema = `{"type": "object", "additionalProperties": false, "required": ["order", "iban", "amount", "currency", "memo", "paid_at", "repeated"], "properties": {
		"order": {"type": "string"}, "iban": {"type": "string"}, "amount": {"type": "integer"}, "currency": {"type": "string"},
		"memo": {"type": "string"}, "paid_at": {"type": "string"}, "repeated": {"type": "boolean"}}}`
)

func (l *ledger) tools(db *database, class label.Label) []*builtins.Tool {
	of := builtins.Source{Class: class, Of: "ledger"}
	return []*builtins.Tool{{
		Name: "payments.orders",
		Doc: "List the open orders: dicts with id, vendor (the id of the supplier), amount (an int, in cents), currency and status.\n" +
			"With paid = True also those that have been paid, whose status is \"paid\".",
		Params:     []builtins.Param{{Name: "paid", Doc: "List paid orders too. Default: False.", Schema: schema(boolSchema), Sink: "none"}},
		Returns:    schema(`{"type": "array", "items": ` + orderSchema + `}`),
		Effects:    builtins.Read,
		Label:      of,
		State:      db.state(class, false),
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			return l.orders(ctx, builtins.Arg[bool](in, "paid"))
		},
	}, {
		Name:       "payments.list",
		Doc:        "List the payments that have been made: dicts with order, iban, amount (an int, in cents), currency, memo and paid_at.",
		Returns:    schema(`{"type": "array", "items": ` + paymentSchema + `}`),
		Effects:    builtins.Read,
		Label:      of,
		State:      db.state(class, false),
		Idempotent: true,
		Run: func(ctx context.Context, _ *builtins.Invocation) (any, error) {
			return l.payments(ctx)
		},
	}, {
		Name: "payments.pay",
		Doc: "Pay one order, once. Paying it again with the same account, amount and memo makes no second payment and returns the first, with repeated = True.\n" +
			"Fails with no-such-order, already-paid (with other data), amount-too-high (above the order's) or invalid-iban.",
		Params: []builtins.Param{
			{Name: "order", Doc: "The order's id.", Schema: schema(`{"type": "string", "minLength": 1, "maxLength": 100}`), Required: true, Sink: "none"},
			{Name: "iban", Doc: "The account to pay to.", Schema: schema(`{"type": "string", "minLength": 1, "maxLength": 64}`), Required: true, Sink: "account", Norm: builtins.NormIBAN},
			{Name: "amount", Doc: "In cents: 1250.00 is 125000.", Schema: schema(`{"type": "integer", "minimum": 1, "maximum": 1000000000000}`), Required: true, Sink: "none"},
			{Name: "memo", Doc: "What the payee reads. Default: the order's id.", Schema: schema(`{"type": "string", "maxLength": 140}`), Sink: "content"},
		},
		Returns:    schema(paymentSchema),
		Effects:    builtins.Write | builtins.Destructive,
		Label:      of,
		State:      db.state(class, true),
		Idempotent: true,
		Run: func(ctx context.Context, in *builtins.Invocation) (any, error) {
			iban, _ := builtins.NormIBAN(in.Args["iban"])
			if iban == "" {
				return nil, fail("invalid-iban", "iban: not an account number whose check digits are right")
			}
			p := payment{
				order: builtins.Arg[string](in, "order"), iban: iban, amount: builtins.Arg[int64](in, "amount"),
				memo: builtins.Arg[string](in, "memo"), paidAt: in.Now.UTC().Format(time.RFC3339), key: in.Key,
			}
			if p.memo == "" {
				p.memo = p.order
			}
			return l.pay(ctx, p)
		},
	}}
}

func (l *ledger) orders(ctx context.Context, paid bool) (any, error) {
	rows, err := l.db.QueryContext(ctx, "SELECT "+orderColumns+" FROM orders WHERE status = 'open' OR status = 'paid' AND ? ORDER BY id", paid)
	if err != nil {
		return nil, sqlFailed(ctx, err)
	}
	defer rows.Close()
	out, err := rowsOf(rows, strings.Split(orderColumns, ", "))
	if err != nil {
		return nil, sqlFailed(ctx, err)
	}
	return out, nil
}

type payment struct {
	order, iban, currency, memo, paidAt, key string
	amount                                   int64
}

func (p payment) result(repeated bool) map[string]any {
	return map[string]any{
		"order": p.order, "iban": p.iban, "amount": p.amount, "currency": p.currency,
		"memo": p.memo, "paid_at": p.paidAt, "repeated": repeated,
	}
}

func (l *ledger) payments(ctx context.Context) (any, error) {
	rows, err := l.db.QueryContext(ctx, "SELECT "+paymentColumns+" FROM payments ORDER BY order_id LIMIT ?", maxQueryRows)
	if err != nil {
		return nil, sqlFailed(ctx, err)
	}
	defer rows.Close()
	out := []any{}
	for rows.Next() {
		var p payment
		if err := rows.Scan(&p.order, &p.iban, &p.amount, &p.currency, &p.memo, &p.paidAt, &p.key); err != nil {
			return nil, sqlFailed(ctx, err)
		}
		out = append(out, p.result(false))
	}
	if err := rows.Err(); err != nil {
		return nil, sqlFailed(ctx, err)
	}
	return out, nil
}

// pay makes a payment unless one for the order is there. The transaction takes the
// database's write lock at once, so that of two who pay one order the second sees the first.
func (l *ledger) pay(ctx context.Context, p payment) (any, error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, sqlFailed(ctx, err)
	}
	defer tx.Rollback() // does nothing once committed
	var amount int64
	err = tx.QueryRowContext(ctx, "SELECT amount, currency FROM orders WHERE id = ?", p.order).Scan(&amount, &p.currency)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fail("no-such-order", "order %q: not in the ledger", p.order)
	case err != nil:
		return nil, sqlFailed(ctx, err)
	}
	var first payment
	err = tx.QueryRowContext(ctx, "SELECT "+paymentColumns+" FROM payments WHERE order_id = ?", p.order).
		Scan(&first.order, &first.iban, &first.amount, &first.currency, &first.memo, &first.paidAt, &first.key)
	switch {
	case err == nil && first.iban == p.iban && first.amount == p.amount && first.memo == p.memo:
		return first.result(first.key != p.key), nil
	case err == nil:
		return nil, fail("already-paid", "order %q: paid already, with another account, amount or memo", p.order)
	case !errors.Is(err, sql.ErrNoRows):
		return nil, sqlFailed(ctx, err)
	case p.amount > amount:
		return nil, fail("amount-too-high", "order %q: amount: want at most the order's, %d", p.order, amount)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO payments ("+paymentColumns+") VALUES (?, ?, ?, ?, ?, ?, ?)",
		p.order, p.iban, p.amount, p.currency, p.memo, p.paidAt, p.key)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE orders SET status = 'paid' WHERE id = ?", p.order)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return nil, sqlFailed(ctx, err)
	}
	return p.result(false), nil
}
