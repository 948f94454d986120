roles = {"viewer": ["read"], "editor": ["read", "write"], "admin": ["read", "write", "delete"]}
users = [("ana", "admin"), ("bob", "viewer"), ("cy", "ghost")]

def can(role, action):
    return action in roles.get(role, [])

for user, role in users:
    flags = "".join(a[0] if can(role, a) else "-" for a in ["read", "write", "delete"])
    print(f"{user:>5} {flags}")
print([u for u, r in users if r not in roles])
