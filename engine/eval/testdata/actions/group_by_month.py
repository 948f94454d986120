transactions = [
    {"date": "2026-01-03", "amount": -20.0, "category": "food"},
    {"date": "2026-01-15", "amount": -800.0, "category": "rent"},
    {"date": "2026-02-01", "amount": 2500.0, "category": "salary"},
    {"date": "2026-02-11", "amount": -35.5, "category": "food"},
]
monthly = {}
for t in transactions:
    month = t["date"][:7]
    if month not in monthly:
        monthly[month] = {"income": 0, "expense": 0}
    if t["amount"] > 0:
        monthly[month]["income"] += t["amount"]
    else:
        monthly[month]["expense"] += -t["amount"]

for month in sorted(monthly.keys()):
    m = monthly[month]
    print("Month: " + month + ", income: " + str(m["income"]) + ", expense: " + str(m["expense"]))
