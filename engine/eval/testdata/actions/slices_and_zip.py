names = ["Ana", "Bob", "Cleo", "Dan", "Eve"]
scores = [88, 92, 79, 95, 85]
ranked = sorted(zip(scores, names), reverse=True)
print("Top 3:", [n for s, n in ranked[:3]])
print("Bottom:", ranked[-1])
print("Every other:", names[::2])
print(dict(zip(names, scores))["Dan"])
first, *middle, last = names
print(first, middle, last)
names[1:3] = ["Bert", "Chloe"]
print(names)
