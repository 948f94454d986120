A = [[1, 2], [3, 4], [5, 6]]
B = [[1, 0, 2], [0, 1, 3]]
T = [list(row) for row in zip(*A)]
print(T)
product = [[sum(a * b for a, b in zip(row, col)) for col in zip(*B)] for row in A]
for row in product:
    print(" ".join(f"{v:3d}" for v in row))
identity = [[1 if i == j else 0 for j in range(3)] for i in range(3)]
print(identity)
