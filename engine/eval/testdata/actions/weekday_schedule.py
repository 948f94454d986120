from datetime import datetime, timedelta

start = datetime(2026, 5, 1, 9, 0)
schedule = []
current = start
while len(schedule) < 5:
    if current.weekday() < 5:
        schedule.append(current)
    current += timedelta(days=1)
for d in schedule:
    print(d.strftime("%Y-%m-%d %a"))
print(f"Last: {schedule[-1]:%d %b %Y}")
print((schedule[-1] - schedule[0]).days, "days")
