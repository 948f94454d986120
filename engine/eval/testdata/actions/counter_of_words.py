from collections import Counter
import re

text = """The quick brown fox jumps over the lazy dog. The dog barks;
the fox runs away. Quick, quick!"""
words = re.findall(r"[a-z]+", text.lower())
counts = Counter(words)
for word, n in counts.most_common(4):
    print(f"{word}: {n}")
print(sum(counts.values()), len(counts))
