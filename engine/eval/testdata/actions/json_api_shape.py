import json as j

response = j.loads("""
{"data": {"viewer": {"repos": {"nodes": [
  {"name": "alpha", "stars": 12, "lang": {"name": "Go"}},
  {"name": "beta", "stars": 3, "lang": null}
]}}}}
""")
repos = response["data"]["viewer"]["repos"]["nodes"]
for repo in repos:
    lang = (repo.get("lang") or {}).get("name", "n/a")
    print(f"{repo['name']:<8} {'*' * repo['stars']} {lang}")
print(j.dumps({r["name"]: r["stars"] for r in repos}, indent=4))
