prices = [10.0, 11.5, 12.0, 11.0, 13.5, 14.0, 13.0]
window = 3
ma = []
for i in range(len(prices) - window + 1):
    ma.append(round(sum(prices[i:i + window]) / window, 2))
print(ma)
changes = [(b - a) / a * 100 for a, b in zip(prices, prices[1:])]
print(["%.1f%%" % c for c in changes])
best_day = changes.index(max(changes)) + 1
print(f"best day: {best_day} ({changes[best_day - 1]:+.2f}%)")
