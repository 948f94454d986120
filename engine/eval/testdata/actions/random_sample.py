import random

random.seed(42)
winners = random.sample(["ana", "bob", "cy", "di"], 2)
print(winners)
