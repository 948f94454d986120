rows = [("Q1", 1200, 0.153), ("Q2", 980, -0.02)]
lines = ["| quarter | sales | change |"
         "\n|---|---|---|"]
for quarter, sales, change in rows:
    lines.append(f"| {quarter} | {sales:,} | {change:+.1%} |")
print("\n".join(lines))
