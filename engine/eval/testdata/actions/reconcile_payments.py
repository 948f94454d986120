invoices = {"INV-1": 100.0, "INV-2": 250.5, "INV-3": 75.25}
payments = [("INV-1", 100.0), ("INV-2", 200.0), ("INV-2", 50.5), ("INV-9", 10.0)]
paid = {}
unknown = []
for ref, amount in payments:
    if ref not in invoices:
        unknown.append((ref, amount))
        continue
    paid[ref] = paid.get(ref, 0.0) + amount
for inv, due in invoices.items():
    got = paid.get(inv, 0.0)
    diff = due - got
    status = "PAID" if abs(diff) < 0.005 else ("PARTIAL" if got > 0 else "UNPAID")
    print(f"{inv} {status:8} due={due:.2f} got={got:.2f}")
print("unknown:", unknown)
