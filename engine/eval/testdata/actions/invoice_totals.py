def list_invoices():
    return [
        {"id": "INV-001", "vendor": "Acme Corp", "amount": 1250.5, "status": "paid", "due": "2026-01-15"},
        {"id": "INV-002", "vendor": "Globex", "amount": 980.0, "status": "open", "due": "2026-02-01"},
        {"id": "INV-003", "vendor": "Acme Corp", "amount": 310.25, "status": "open", "due": "2026-01-20"},
        {"id": "INV-004", "vendor": "Initech", "amount": 4400.0, "status": "overdue", "due": "2025-12-01"},
    ]

invoices = list_invoices()
open_invoices = [inv for inv in invoices if inv["status"] != "paid"]
total = sum(inv["amount"] for inv in open_invoices)
print(f"Open invoices: {len(open_invoices)}")
print(f"Total outstanding: ${total:,.2f}")
for inv in sorted(open_invoices, key=lambda x: x["amount"], reverse=True):
    print(f"  {inv['id']}: {inv['vendor']:<12} {inv['amount']:>10.2f}")
