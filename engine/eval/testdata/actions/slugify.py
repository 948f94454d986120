import re

def slugify(title):
    s = title.lower().strip()
    s = re.sub(r"[^a-z0-9]+", "-", s)
    return s.strip("-")

titles = ["Hello, World!", "  10 Tips & Tricks  ", "C++ vs. Rust"]
print([slugify(t) for t in titles])
assert slugify("A  B") == "a-b"
