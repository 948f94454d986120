urls = ["/a", "/b", "/a", "/c", "/b", "/d"]
seen = set()
unique = []
for u in urls:
    if u not in seen:
        seen.add(u)
        unique.append(u)
print(unique)
print(list(dict.fromkeys(urls)))
duplicates = sorted({u for u in urls if urls.count(u) > 1})
print("dupes:", duplicates)
