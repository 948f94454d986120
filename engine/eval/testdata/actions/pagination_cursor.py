DATA = [{"id": i, "title": f"Item {i}"} for i in range(1, 24)]

def api_list(offset=0, limit=10):
    page = DATA[offset:offset + limit]
    return {"results": page, "has_more": offset + limit < len(DATA), "total": len(DATA)}

offset, fetched = 0, []
while True:
    resp = api_list(offset=offset, limit=10)
    fetched += resp["results"]
    print(f"Fetched {len(resp['results'])} (total so far: {len(fetched)}/{resp['total']})")
    if not resp["has_more"]:
        break
    offset += 10
print(fetched[-1]["title"])
