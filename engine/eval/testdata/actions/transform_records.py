records = [
    {"first": "ana", "last": "lopez", "born": 1990, "tags": "a,b,c"},
    {"first": "bob", "last": "o'neil", "born": 1985, "tags": ""},
]
result = [
    {
        "full_name": f"{r['first'].title()} {r['last'].title()}",
        "age": 2026 - r["born"],
        "tags": [t for t in r["tags"].split(",") if t],
    }
    for r in records
]
for item in result:
    print(item["full_name"], item["age"], len(item["tags"]), item["tags"])
