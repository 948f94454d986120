ledger = []
balance = 0

def post(kind, amount, memo=""):
    global balance
    if kind not in ("credit", "debit"):
        raise ValueError(f"unknown kind: {kind}")
    signed = amount if kind == "credit" else -amount
    balance += signed
    ledger.append((kind, amount, memo, balance))

post("credit", 1000, "opening")
post("debit", 250.75, "rent")
post("debit", 40, "books")
try:
    post("bonus", 5)
except ValueError as err:
    print("rejected:", err)
for kind, amount, memo, bal in ledger:
    print(f"{kind:<7}{amount:>9.2f}  {memo:<8}{bal:>10.2f}")
