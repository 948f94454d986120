def chunks(lst, n):
    return [lst[i:i + n] for i in range(0, len(lst), n)]

ids = list(range(1, 11))
sent = []

def send_batch(batch):
    sent.append(batch)
    return {"ok": True, "count": len(batch)}

total = 0
for i, batch in enumerate(chunks(ids, 4)):
    res = send_batch(batch)
    if not res["ok"]:
        print(f"batch {i} failed")
        continue
    total += res["count"]
    print(f"batch {i}: sent {res['count']} (ids {batch[0]}-{batch[-1]})")
print("total", total)
