import itertools

team = ["Ana", "Bob", "Cy", "Di"]
for a, b in itertools.combinations(team, 2):
    print(f"{a} vs {b}")
print(len(list(itertools.permutations(team, 2))))
print(list(itertools.chain([1, 2], [3], [4, 5])))
print(list(itertools.accumulate([1, 2, 3, 4])))
print([p for p in itertools.product("ab", [1, 2])])
