import json
inbox = json.loads('[{"id": 1, "read": true}, {"id": 2, "read": false}, {"id": 3, "read": false}]')
unread = next((m for m in inbox if not m["read"]), None)
if unread is not None:
    print(f"First unread: {unread['id']}")
else:
    print("none")
print(any(m["read"] for m in inbox), all("id" in m for m in inbox))
