from itertools import groupby

entries = [("2026-01-01", 5), ("2026-01-01", 7), ("2026-01-02", 1), ("2026-01-03", 2), ("2026-01-03", 9)]
for day, group in groupby(entries, key=lambda e: e[0]):
    values = [v for _, v in group]
    print(day, values, sum(values))
