class Node:
    def __init__(self, value, children=None):
        self.value = value
        self.children = children or []

    def total(self):
        return self.value + sum(c.total() for c in self.children)

    def __repr__(self):
        return f"Node({self.value})"

tree = Node(1, [Node(2), Node(3, [Node(4)])])
print(tree, tree.total(), tree.children)
