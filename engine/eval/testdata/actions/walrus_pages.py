pages = {None: (["a", "b"], "t1"), "t1": (["c"], "t2"), "t2": (["d", "e"], None)}

def list_page(token):
    items, nxt = pages[token]
    return {"items": items, "next": nxt}

all_items = []
token = None
while (page := list_page(token)):
    all_items.extend(page["items"])
    if (token := page["next"]) is None:
        break
print(all_items)
if (n := len(all_items)) > 3:
    print(f"{n} items in total")
