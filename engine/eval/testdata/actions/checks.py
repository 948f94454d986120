values = [3, "x", 2.5, None, [1], True]
for v in values:
    if isinstance(v, bool):
        kind = "bool"
    elif isinstance(v, (int, float)):
        kind = "number"
    elif v is None:
        kind = "none"
    elif isinstance(v, str):
        kind = "text"
    else:
        kind = "other"
    print(kind)
score = 72
grade = "A" if score >= 90 else "B" if 70 <= score < 90 else "C"
print(grade)
