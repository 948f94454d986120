import copy

original = {"users": [{"name": "ana", "roles": ["admin"]}], "v": 1}
backup = copy.deepcopy(original)
original["users"][0]["roles"].append("owner")
original["v"] += 1
print(backup)
print(original)
print(backup == original)
