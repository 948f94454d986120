rows = [
    ["Name", "Qty", "Price"],
    ["Widget", 4, 3.5],
    ["Gadget long name", 12, 10.25],
    ["Nut", 1000, 0.05],
]
widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
for idx, row in enumerate(rows):
    print(" | ".join(str(cell).ljust(widths[i]) for i, cell in enumerate(row)))
    if idx == 0:
        print("-+-".join("-" * w for w in widths))
