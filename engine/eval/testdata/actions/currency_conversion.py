rates = {"EUR": 1.0, "USD": 1.08, "GBP": 0.86, "JPY": 161.5}

def convert(amount, src, dst):
    if src not in rates or dst not in rates:
        raise KeyError(f"unknown currency: {src}/{dst}")
    return amount / rates[src] * rates[dst]

for amt, s, d in [(100, "EUR", "USD"), (50.5, "USD", "GBP"), (10000, "JPY", "EUR")]:
    print(f"{amt} {s} = {convert(amt, s, d):.2f} {d}")
