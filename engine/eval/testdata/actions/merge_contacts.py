crm = [{"email": "ana@x.example", "name": "Ana"}, {"email": "bob@x.example", "name": "Bob"}]
newsletter = [{"email": "bob@x.example", "tags": ["vip"]}, {"email": "cy@x.example", "tags": []}]

merged = {c["email"]: dict(c) for c in crm}
for n in newsletter:
    merged.setdefault(n["email"], {"email": n["email"], "name": "unknown"}).update(tags=n["tags"])

for email, c in sorted(merged.items()):
    print(f"{email}: {c['name']} {c.get('tags', [])}")
