text = "mississippi"
freq = {}
for ch in text:
    freq[ch] = freq.get(ch, 0) + 1
print(freq)
most = max(freq, key=freq.get)
print("most common:", most, freq[most])
print(sorted(set(text)))
print("".join(sorted(text)))
