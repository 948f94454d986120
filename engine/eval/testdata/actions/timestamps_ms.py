events = [
    {"ts": 1700000000123, "type": "click"},
    {"ts": 1700000003500, "type": "view"},
    {"ts": 1700000009999, "type": "click"},
]
start = events[0]["ts"]
for e in events:
    offset = (e["ts"] - start) / 1000
    print(f"+{offset:06.3f}s {e['type']}")
clicks = list(filter(lambda e: e["type"] == "click", events))
print(len(clicks), list(map(lambda e: e["ts"] % 1000, clicks)))
