from itertools import chain, islice, groupby, product, combinations, permutations, zip_longest, accumulate, repeat, takewhile, dropwhile, starmap, pairwise, filterfalse, combinations_with_replacement
print(list(chain([1, 2], (3,), {4: 5})), list(chain.from_iterable([[1], [2, 3], []])), list(chain()))
print(list(islice([1, 2, 3, 4, 5], 3)), list(islice([1, 2, 3, 4, 5], 1, None)), list(islice([1, 2, 3, 4, 5], 1, 5, 2)), list(islice([1], 9)), list(islice([1, 2], None)))
print([(k, list(g)) for k, g in groupby([1, 1, 2, 1, 3, 3])], [(k, list(g)) for k, g in groupby(["apple", "ant", "bee", "bat", "cow"], key=lambda w: w[0])], list(groupby([])))
print(list(product([1, 2], [3, 4])), list(product([0, 1], repeat=3)), list(product()), list(product([1], [])), list(product([1, 2], [3], repeat=2)))
for n in range(5):
    for r in range(5):
        print(list(combinations(range(n), r)), list(permutations(range(n), r)), list(combinations_with_replacement(range(n), r)))
print(list(permutations([3, 1, 2])), len(list(permutations(range(6)))), len(list(combinations(range(10), 5))))
print(list(zip_longest([1, 2, 3], [4], fillvalue=0)), list(zip_longest([1], [])), list(accumulate([1, 2, 3])), list(accumulate([1, 2, 3], lambda a, b: a * b)), list(accumulate([1, 2], initial=10)), list(accumulate(["a", "b"])), list(accumulate([])))
print(list(repeat(7, 3)), list(takewhile(lambda x: x < 3, [1, 2, 3, 1])), list(dropwhile(lambda x: x < 3, [1, 2, 3, 1])), list(starmap(pow, [(2, 3), (3, 2)])), list(pairwise([1, 2, 3])), list(filterfalse(lambda x: x % 2, range(5))), list(filterfalse(None, [0, 1])))
