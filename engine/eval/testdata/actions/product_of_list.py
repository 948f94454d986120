from functools import reduce

nums = [1, 2, 3, 4, 5]
product = reduce(lambda a, b: a * b, nums)
print(product)
print(reduce(lambda acc, x: acc + [acc[-1] + x], nums[1:], [nums[0]]))
squares = list(map(lambda x: x ** 2, nums))
evens = list(filter(lambda x: x % 2 == 0, nums))
print(squares, evens)
