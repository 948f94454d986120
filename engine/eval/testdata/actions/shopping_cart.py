cart = []

def add_item(name, price, qty=1, **options):
    cart.append({"name": name, "price": price, "qty": qty, **options})

add_item("book", 12.5)
add_item("pen", 1.2, qty=10, color="blue")
add_item("bag", 45, gift=True)

def total(items, *, discount=0.0, tax=0.19):
    net = sum(i["price"] * i["qty"] for i in items)
    net *= 1 - discount
    return round(net, 2), round(net * tax, 2), round(net * (1 + tax), 2)

net, vat, gross = total(cart, discount=0.1)
print(f"net={net} vat={vat} gross={gross}")
for item in cart:
    extras = {k: v for k, v in item.items() if k not in ("name", "price", "qty")}
    print(item["name"], extras if extras else "-")
