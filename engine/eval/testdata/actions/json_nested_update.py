import json

state = json.loads('{"users": {"u1": {"name": "Ana", "logins": 3}, "u2": {"name": "Bob", "logins": 0}}, "version": 7}')
for uid, user in state["users"].items():
    user["active"] = user["logins"] > 0
    user["name"] = user["name"].upper()
state["version"] += 1
print(json.dumps(state))
print(json.dumps(state["users"]["u1"], sort_keys=True))
print(json.dumps([None, True, 1.5, "é", {"a": []}], ensure_ascii=False))
print(json.dumps({"b": 1, "a": [1, 2]}, separators=(",", ":")))
