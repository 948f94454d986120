def numbered(lines):
    n = 1
    for line in lines:
        if line.strip():
            yield n, line
            n += 1

text = "alpha\n\nbeta\n  \ngamma"
for i, line in numbered(text.split("\n")):
    print(i, line)
