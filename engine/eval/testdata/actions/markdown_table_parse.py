md = """| name | score |
|------|-------|
| ana  | 9.5   |
| bob  | 7     |
"""
lines = [l for l in md.splitlines() if l.startswith("|")]
header = [h.strip() for h in lines[0].strip("|").split("|")]
rows = []
for l in lines[2:]:
    cells = [c.strip() for c in l.strip("|").split("|")]
    rows.append(dict(zip(header, cells)))
avg = sum(float(r["score"]) for r in rows) / len(rows)
print(rows)
print(f"avg: {avg}")
