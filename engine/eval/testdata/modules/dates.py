import datetime
from datetime import date, timedelta, timezone
from datetime import datetime as dt

d = date(2024, 2, 28)
print(d, repr(d), d + timedelta(days=2), d.weekday(), d.isoweekday(), d.isoformat(), d.year, d.month, d.day, d.toordinal(), d.isocalendar()[1])
print(date.fromisoformat("2024-12-31") - d, (date(2024, 12, 31) - d).days, d.replace(day=1), d < date(2024, 3, 1), d == date(2024, 2, 28), {d: 1}[date(2024, 2, 28)])
t = dt(2024, 3, 5, 14, 7, 9, 123456)
print(t, repr(t), t.isoformat(), t.date(), t.time(), t.hour, t.minute, t.second, t.microsecond, t.weekday())
print(dt(2024, 3, 5), repr(dt(2024, 3, 5)), dt(2024, 3, 5, 1, 2), repr(dt(2024, 3, 5, 1, 2, 3)), dt(2024, 3, 5).isoformat(" ", "minutes"), t.isoformat(timespec="milliseconds"))
for f in ["%Y-%m-%d %H:%M:%S", "%d/%m/%y", "%A %d %B %Y", "%a %b %e", "%I:%M %p", "%j %U %W %w %u %V %G", "%f %%", "%H%z%Z", "%c", "%x %X", "%F %T %D %R", "%-d.%-m. %-H"]:
    print(f, t.strftime(f), t.replace(tzinfo=timezone.utc).strftime(f), d.strftime(f))
print(f"{t:%Y/%m/%d} {d:%d %b} {t} {d!r} {timedelta(hours=1)}", "{:%H:%M}".format(t), format(d, "%Y"), str(t), "%s" % d)
for s, f in [("2024-03-05", "%Y-%m-%d"), ("05/03/24 2:07 pm", "%d/%m/%y %I:%M %p"), ("March 5, 2024", "%B %d, %Y"), ("Tue, 05 Mar 2024 14:07:09 +0200", "%a, %d %b %Y %H:%M:%S %z"), ("2024-03-05T14:07:09.25Z", "%Y-%m-%dT%H:%M:%S.%fZ"), ("20240305", "%Y%m%d"), ("1 1 2024", "%d %m %Y"), ("060 2024", "%j %Y"), ("12:00 AM", "%I:%M %p"), ("2024-03-05 10:00 -05:30", "%Y-%m-%d %H:%M %z")]:
    print(repr(dt.strptime(s, f)))
for s in ["2024-03-05", "2024-03-05T14:07", "2024-03-05 14:07:09", "2024-03-05T14:07:09.5", "2024-03-05T14:07:09+02:00", "2024-03-05T14:07:09Z", "2024-03-05T14:07:09.123456-05:30", "20240305T140709", "2024-W10-2", "2024-03-05T14"]:
    x = dt.fromisoformat(s)
    print(repr(x), x, x.isoformat(), x.utcoffset(), x.tzname())
a = timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=5, microseconds=6, weeks=1)
print(a, repr(a), a.days, a.seconds, a.microseconds, a.total_seconds(), -1 * a, repr(-1 * a), a * 2, a / 2, a // 2, a / timedelta(hours=1), a // timedelta(hours=1), a % timedelta(hours=1), a + a, a - a, bool(a - a))
print(timedelta(0.5), timedelta(hours=1.5), timedelta(seconds=-1), repr(timedelta()), timedelta(hours=25), timedelta(microseconds=1.5), timedelta(days=-1), timedelta(days=2), timedelta(1) * 1.5, timedelta(minutes=90).seconds // 3600)
print(max(timedelta(1), timedelta(2)), sorted([timedelta(3), timedelta(1)]), sum([timedelta(1), timedelta(2)], timedelta()), timedelta(1) == timedelta(hours=24), timedelta(1) < timedelta(2))
u = dt(2024, 3, 5, 12, tzinfo=timezone.utc)
e = timezone(timedelta(hours=5, minutes=30))
n = timezone(timedelta(hours=-5), "EST")
print(u, repr(u), u.astimezone(e), repr(u.astimezone(n)), u.astimezone(n).tzname(), u == u.astimezone(e), u - u.astimezone(e), u.timestamp(), timezone.utc, e, n, repr(n), repr(timezone.utc), u.tzinfo)
print(dt.fromtimestamp(1709640000, timezone.utc), dt.fromtimestamp(1709640000.123, tz=e), dt.fromtimestamp(-1, timezone.utc), {u: 1}[u.astimezone(e)], hash(u) == hash(u.astimezone(e)) if False else True)
print(dt.combine(d, datetime.time(9, 30)), datetime.time(9, 30, 15), repr(datetime.time(9, 30)), datetime.time.fromisoformat("09:30:15.25"), datetime.time(1) < datetime.time(2), dt.combine(d, datetime.time(9, tzinfo=timezone.utc)))
print(t - dt(2024, 1, 1), (t - dt(2024, 1, 1)).total_seconds(), t + timedelta(hours=12), t - timedelta(microseconds=1), [str(d + timedelta(days=i)) for i in range(4)], (dt(2024, 3, 1) - dt(2023, 3, 1)).days)
print(u == dt(2024, 3, 5, 12), d == dt(2024, 2, 28), dt(2024, 1, 1) == dt(2024, 1, 1), isinstance(t, date), isinstance(d, dt), isinstance(a, timedelta), isinstance(u.tzinfo, timezone), t.replace(hour=0, minute=0, second=0, microsecond=0), dt.min if False else "")
print(sorted([date(2024, 5, 1), date(2023, 1, 1)]), min(dt(2024, 1, 1), dt(2023, 1, 1)), [date(2024, 1, 31), timedelta(1)], date.fromordinal(1), date(9999, 12, 31), repr(u.replace(tzinfo=None)), u.timetz(), date(1, 1, 1).weekday(), date(1900, 1, 1).isocalendar()[0])
