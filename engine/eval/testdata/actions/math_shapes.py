import math

shapes = [("circle", 2.0), ("square", 3.0), ("circle", 0.5)]
for kind, size in shapes:
    if kind == "circle":
        area = math.pi * size ** 2
    else:
        area = size * size
    print(f"{kind} {size}: {area:.3f}")
print(math.sqrt(144), math.floor(3.7), math.ceil(3.2), math.gcd(12, 18))
print(math.hypot(3, 4), math.log10(1000), math.isclose(0.1 + 0.2, 0.3))
