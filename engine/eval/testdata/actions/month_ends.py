import calendar
from datetime import date

for month in range(1, 4):
    last = calendar.monthrange(2024, month)[1]
    print(date(2024, month, last).isoformat())
print(calendar.isleap(2024))
