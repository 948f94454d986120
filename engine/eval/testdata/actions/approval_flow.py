REQUESTS = [
    {"id": 1, "user": "ana", "amount": 120.0, "reason": "taxi"},
    {"id": 2, "user": "bob", "amount": 2400.0, "reason": "laptop"},
    {"id": 3, "user": "cy", "amount": 15.75, "reason": ""},
]
LIMIT = 500

approved, escalated, rejected = [], [], []
for req in REQUESTS:
    if not req["reason"]:
        rejected.append(req["id"])
    elif req["amount"] > LIMIT:
        escalated.append(req["id"])
    else:
        approved.append(req["id"])

print("approved:", approved)
print("escalated:", escalated)
print("rejected:", rejected)
print("approved sum:", sum(r["amount"] for r in REQUESTS if r["id"] in approved))
