def binary_search(items, target):
    lo, hi = 0, len(items) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if items[mid] == target:
            return mid
        elif items[mid] < target:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1

data = sorted([33, 4, 19, 8, 72, 55, 1])
print(data)
for t in (8, 72, 5):
    print(t, binary_search(data, t))
