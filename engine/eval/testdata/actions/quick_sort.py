def quicksort(xs):
    if len(xs) <= 1:
        return xs
    pivot, *rest = xs
    left = [x for x in rest if x < pivot]
    right = [x for x in rest if x >= pivot]
    return quicksort(left) + [pivot] + quicksort(right)

print(quicksort([5, 3, 8, 1, 9, 2, 5]))
print(quicksort(["pear", "fig", "apple"]))
print(quicksort([]))
