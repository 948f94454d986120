def make_counter():
    count = 0
    def inc(step=1):
        nonlocal count
        count += step
        return count
    return inc

c1 = make_counter()
c2 = make_counter()
print(c1(), c1(), c1(5), c2())
