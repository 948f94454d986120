-- The ledger: what was ordered, and what has been paid. Amounts are integers in cents.
CREATE TABLE orders (
	id       TEXT PRIMARY KEY,
	vendor   TEXT NOT NULL, -- id in vendors.csv
	what     TEXT NOT NULL,
	amount   INTEGER NOT NULL CHECK (amount > 0),
	currency TEXT NOT NULL DEFAULT 'EUR',
	status   TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid'))
) STRICT;

CREATE TABLE payments (
	order_id TEXT NOT NULL UNIQUE REFERENCES orders (id),
	iban     TEXT NOT NULL,
	amount   INTEGER NOT NULL CHECK (amount > 0),
	currency TEXT NOT NULL,
	memo     TEXT NOT NULL,
	paid_at  TEXT NOT NULL,
	call_key TEXT NOT NULL -- of the call that paid: a second try of it is no second payment
) STRICT;

INSERT INTO orders (id, vendor, what, amount) VALUES
	('PO-1001', 'V-01', 'office chairs', 124000),
	('PO-1002', 'V-02', 'printing paper', 38650),
	('PO-1003', 'V-03', 'cafeteria deliveries, November', 231050),
	('PO-1004', 'V-04', 'torque wrenches', 97925),
	('PO-1005', 'V-05', 'freight, container 4471', 156000),
	('PO-1006', 'V-06', 'milling machine', 4800000),
	('PO-1007', 'V-02', 'envelopes, annual contract', 215000),
	('PO-1008', 'V-05', 'freight, pallet 98', 43210);
