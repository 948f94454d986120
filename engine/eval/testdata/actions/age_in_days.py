from datetime import datetime

created = datetime.strptime("2026-01-31 23:59", "%Y-%m-%d %H:%M")
closed = datetime.strptime("2026-02-02 01:30", "%Y-%m-%d %H:%M")
delta = closed - created
print(delta)
print(delta.days, delta.seconds // 3600)
print(created < closed, created.year, created.month, closed.day)
print(closed.isoformat())
