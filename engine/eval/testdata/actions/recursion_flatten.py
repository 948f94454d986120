def flatten(x):
    out = []
    for item in x:
        if isinstance(item, list):
            out.extend(flatten(item))
        else:
            out.append(item)
    return out

print(flatten([1, [2, [3, 4], 5], [[6]], []]))

def depth(d):
    if not isinstance(d, dict) or not d:
        return 0
    return 1 + max(depth(v) for v in d.values())

print(depth({"a": {"b": {"c": 1}}, "d": 2}))
