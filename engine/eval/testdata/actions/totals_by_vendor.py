orders = [{"vendor": "Acme", "amount": 120.5}, {"vendor": "Bolt", "amount": 80.0}, {"vendor": "Acme", "amount": 29.5}]
totals = {}
for order in orders:
    totals[order["vendor"]] = totals.get(order["vendor"], 0) + order["amount"]
for vendor, total in sorted(totals.items(), key=lambda kv: -kv[1]):
    print(f"{vendor:<8}{total:>10,.2f}")
print(f"Total: {sum(totals.values()):.2f}")
