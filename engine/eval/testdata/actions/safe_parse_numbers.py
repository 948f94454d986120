raw = ["12", "3.5", "abc", "", "1e3", "-7"]
good, bad = [], []
for r in raw:
    try:
        good.append(float(r))
    except ValueError:
        bad.append(r)
print("parsed:", good)
print("failed:", bad)
print("sum:", sum(good))
