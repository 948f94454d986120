meetings = [
    {"title": "Standup", "start": "09:00", "end": "09:15"},
    {"title": "Design review", "start": "09:10", "end": "10:00"},
    {"title": "Lunch", "start": "12:00", "end": "13:00"},
    {"title": "1:1", "start": "12:30", "end": "13:00"},
]

def to_minutes(hhmm):
    h, m = map(int, hhmm.split(":"))
    return h * 60 + m

conflicts = []
for i in range(len(meetings)):
    for j in range(i + 1, len(meetings)):
        a, b = meetings[i], meetings[j]
        if to_minutes(a["start"]) < to_minutes(b["end"]) and to_minutes(b["start"]) < to_minutes(a["end"]):
            conflicts.append((a["title"], b["title"]))
for c in conflicts:
    print(f"Conflict: {c[0]} <-> {c[1]}")
print("free" if not conflicts else f"{len(conflicts)} conflicts")
