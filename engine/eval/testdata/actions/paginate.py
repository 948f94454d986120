def fetch(page):
    data = {1: ["a", "b"], 2: ["c"], 3: []}
    return data[page]

page, items = 1, []
while True:
    batch = fetch(page)
    if not batch:
        break
    items = [*items, *batch]
    page += 1
print(len(items), ", ".join(items))
