def find_divisor(n):
    i = 2
    while i * i <= n:
        if n % i == 0:
            print(f"{n} is divisible by {i}")
            break
        i += 1
    else:
        print(f"{n} is prime")

for n in [7, 15, 49, 97]:
    find_divisor(n)
