text = "It was the best of times, it was the worst of times, it was the age of wisdom"
width = 24
lines, current = [], ""
for word in text.split():
    if len(current) + len(word) + (1 if current else 0) > width:
        lines.append(current)
        current = word
    else:
        current = f"{current} {word}" if current else word
if current:
    lines.append(current)
for n, line in enumerate(lines, 1):
    print(f"{n:02}: {line:<{width}}|")
