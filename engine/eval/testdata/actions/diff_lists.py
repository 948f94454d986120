old = {"a.txt": "h1", "b.txt": "h2", "c.txt": "h3"}
new = {"a.txt": "h1", "b.txt": "h9", "d.txt": "h4"}
added = [k for k in new if k not in old]
removed = [k for k in old if k not in new]
changed = [k for k in old.keys() & new.keys() if old[k] != new[k]]
print(f"added={added} removed={removed} changed={changed}")
for label, names in (("+", added), ("-", removed), ("~", changed)):
    for n in names:
        print(label, n)
