from datetime import datetime

events = ["2026-04-01T09:30:00", "2026-04-01T11:00:00", "2026-04-02T08:15:00"]
parsed = [datetime.fromisoformat(e) for e in events]
for dt in parsed:
    print(dt.strftime("%A %H:%M"))
gap = parsed[1] - parsed[0]
print("Gap in minutes:", gap.total_seconds() / 60)
print("Same day:", parsed[0].date() == parsed[1].date())
