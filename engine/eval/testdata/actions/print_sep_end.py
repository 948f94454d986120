items = ["apples", "pears", "plums"]
print("Items", items[0], items[1], sep=" | ")
for i, item in enumerate(items, start=1):
    print(f"{i}. {item}", end="; " if i < len(items) else "\n")
print(*items, sep=", ")
print("-" * 20)
print()
print("done", end=".\n")
