from decimal import Decimal, ROUND_HALF_UP

prices = ["19.99", "5.005", "0.1"]
total = sum(Decimal(p) for p in prices)
print(total)
print(total.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
