header, *rows = "name,qty\nbolt,4\nnut,10".split("\n")
columns = header.split(",")
records = [dict(zip(columns, r.split(","))) for r in rows]
total = sum(int(r["qty"]) for r in records)
best = max(records, key=lambda r: int(r["qty"]))
print(total, best["name"], f"{len(records)=}")
