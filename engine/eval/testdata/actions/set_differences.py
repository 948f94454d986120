expected = {"ana", "bob", "cleo", "dan"}
actual = {"bob", "dan", "eve"}
missing = expected - actual
extra = actual - expected
print("Missing:", sorted(missing))
print("Extra:", sorted(extra))
print("Common:", sorted(expected & actual))
print("All:", sorted(expected | actual))
print("Sym diff:", sorted(expected ^ actual))
print(len(set([1, 1, 2, 3, 3])))
