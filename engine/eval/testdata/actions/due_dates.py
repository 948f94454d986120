from datetime import date, timedelta

today = date(2026, 3, 10)
tasks = [("renew domain", date(2026, 3, 12)), ("file taxes", date(2026, 3, 31)), ("call bank", date(2026, 3, 9))]
for name, due in sorted(tasks, key=lambda t: t[1]):
    delta = (due - today).days
    if delta < 0:
        status = f"overdue by {-delta} day(s)"
    elif delta <= 3:
        status = f"due in {delta} day(s)"
    else:
        status = "ok"
    print(f"{due.isoformat()}  {name:<15} {status}")
print((today + timedelta(days=30)).strftime("%d/%m/%Y"))
