def luhn(number):
    digits = [int(d) for d in str(number)][::-1]
    total = 0
    for i, d in enumerate(digits):
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0

for n in [4539578763621486, 1234567812345670, 1111]:
    print(n, "valid" if luhn(n) else "invalid")
