def split_bill(total: float, people: int) -> list:
    assert people > 0, "need at least one person"
    share = round(total / people, 2)
    shares = [share] * people
    shares[-1] = round(total - share * (people - 1), 2)
    return shares

print(split_bill(100, 3))
print(split_bill(59.97, 4))
assert abs(sum(split_bill(100, 3)) - 100) < 0.001
print("all checks passed")
