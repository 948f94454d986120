from collections import namedtuple

Point = namedtuple("Point", ["x", "y"])
pts = [Point(1, 2), Point(x=3, y=4), Point(0, 0)]
for p in pts:
    print(p.x, p.y, p.x + p.y)
far = max(pts, key=lambda p: p.x ** 2 + p.y ** 2)
print(far.x, far[1])
x, y = far
print(x, y)
