def min_max(values):
    return min(values), max(values)

lo, hi = min_max([4, 9, 1, 7])
print(f"lo={lo}, hi={hi}")
a, b = 1, 2
a, b = b, a
print(a, b)
(x, y), z = (3, 4), 5
print(x + y + z)
pairs = [(1, "one"), (2, "two")]
for num, word in pairs:
    print(num, word, end=" ")
print()
