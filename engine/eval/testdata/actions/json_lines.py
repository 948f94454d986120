import json

lines = """{"user": "ana", "event": "login", "ms": 120}
{"user": "bob", "event": "login", "ms": 340}
not json
{"user": "ana", "event": "logout", "ms": 15}"""
events, skipped = [], 0
for line in lines.split("\n"):
    try:
        events.append(json.loads(line))
    except Exception:
        skipped += 1
users = {}
for ev in events:
    users.setdefault(ev["user"], []).append(ev["event"])
print(users, "skipped:", skipped)
print(max(events, key=lambda e: e["ms"])["user"])
