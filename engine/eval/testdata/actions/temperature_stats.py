readings = {
    "mon": [12.1, 14.5, 13.0],
    "tue": [11.0, 15.25, 12.75],
    "wed": [],
}
for day, temps in readings.items():
    if not temps:
        print(f"{day}: no data")
        continue
    avg = sum(temps) / len(temps)
    print(f"{day}: min={min(temps)} max={max(temps)} avg={avg:.2f} range={max(temps) - min(temps):.2f}")
flat = [t for temps in readings.values() for t in temps]
print("overall:", round(sum(flat) / len(flat), 3))
