ops = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b != 0 else None,
}
for name, a, b in [("add", 2, 3), ("div", 7, 2), ("div", 1, 0), ("mul", 4, 2.5)]:
    result = ops[name](a, b)
    print(f"{name}({a}, {b}) = {result}")
