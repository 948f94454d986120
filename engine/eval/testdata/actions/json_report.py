import json

data = '{"orders": [{"id": 1, "total": 19.99, "items": ["pen", "ink"]}, {"id": 2, "total": 5.0, "items": []}], "currency": "EUR"}'
parsed = json.loads(data)
summary = {
    "count": len(parsed["orders"]),
    "total": round(sum(o["total"] for o in parsed["orders"]), 2),
    "currency": parsed["currency"],
    "empty": [o["id"] for o in parsed["orders"] if not o["items"]],
}
print(json.dumps(summary, indent=2))
