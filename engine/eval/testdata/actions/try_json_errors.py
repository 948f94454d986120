import json

payloads = ['{"ok": true, "value": 3}', '{"broken": ', '[1, 2, 3]']
for p in payloads:
    try:
        obj = json.loads(p)
        print("type:", type(obj).__name__, "->", obj)
    except json.JSONDecodeError:
        print("could not parse:", p)
