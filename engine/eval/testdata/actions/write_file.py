orders = [("A1", 3), ("B2", 5)]
with open("/tmp/orders.csv", "w") as f:
    f.write("sku,qty\n")
    for sku, qty in orders:
        f.write(f"{sku},{qty}\n")
with open("/tmp/orders.csv") as f:
    print(f.read())
