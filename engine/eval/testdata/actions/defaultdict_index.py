from collections import defaultdict

docs = {1: "red blue", 2: "blue green", 3: "red green blue"}
index = defaultdict(set)
for doc_id, text in docs.items():
    for word in text.split():
        index[word].add(doc_id)
for word in sorted(index):
    print(word, sorted(index[word]))
counts = defaultdict(int)
for ids in index.values():
    for i in ids:
        counts[i] += 1
print(dict(sorted(counts.items())))
