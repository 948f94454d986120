data = [
    ("north", "Q1", 10), ("north", "Q2", 15), ("south", "Q1", 7),
    ("south", "Q2", 9), ("east", "Q2", 4),
]
regions = sorted({r for r, _, _ in data})
quarters = sorted(set(q for _, q, _ in data))
table = {r: {q: 0 for q in quarters} for r in regions}
for r, q, v in data:
    table[r][q] += v
print("region  " + "".join(f"{q:>6}" for q in quarters) + "  total")
for r in regions:
    print(f"{r:<8}" + "".join(f"{table[r][q]:>6}" for q in quarters) + f"{sum(table[r].values()):>7}")
