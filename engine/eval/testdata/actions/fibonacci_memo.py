memo = {}

def fib(n):
    if n in memo:
        return memo[n]
    if n < 2:
        return n
    memo[n] = fib(n - 1) + fib(n - 2)
    return memo[n]

print([fib(i) for i in range(15)])
print(fib(80))
print(2 ** 100, 10 ** -2, (-7) // 2, -7 % 3)
