log = []

def process(x):
    try:
        log.append(f"start {x}")
        return 10 / x
    except ZeroDivisionError:
        log.append("division by zero")
        return None
    finally:
        log.append(f"end {x}")

print(process(4))
print(process(0))
print("\n".join(log))
