busy = [(9 * 60, 10 * 60), (11 * 60 + 30, 12 * 60), (15 * 60, 16 * 60 + 45)]
day_start, day_end = 9 * 60, 17 * 60
free = []
cursor = day_start
for start, end in sorted(busy):
    if start > cursor:
        free.append((cursor, start))
    cursor = max(cursor, end)
if cursor < day_end:
    free.append((cursor, day_end))
fmt = lambda m: f"{m // 60:02d}:{m % 60:02d}"
for s, e in free:
    print(f"{fmt(s)}-{fmt(e)} ({e - s} min)")
