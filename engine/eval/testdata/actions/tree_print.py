tree = {
    "src": {"main.py": 120, "util": {"io.py": 40, "text.py": 60}},
    "README.md": 15,
}

def show(node, indent=0):
    size = 0
    for name, child in node.items():
        pad = "  " * indent
        if isinstance(child, dict):
            print(f"{pad}{name}/")
            size += show(child, indent + 1)
        else:
            print(f"{pad}{name} ({child})")
            size += child
    return size

print("total:", show(tree))
