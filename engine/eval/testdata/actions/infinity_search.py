prices = {"shop-a": 19.99, "shop-b": 17.5, "shop-c": None, "shop-d": 18.25}
best_price = float("inf")
best_shop = None
for shop, price in prices.items():
    if price is None:
        continue
    if price < best_price:
        best_price, best_shop = price, shop
print(best_shop, best_price)
print(min((p for p in prices.values() if p is not None), default=0))
print(max([], default="none"))
