sales = [
    ("laptop", 3, 999.99), ("mouse", 25, 19.5), ("keyboard", 10, 49.0),
    ("monitor", 4, 229.0), ("laptop", 1, 949.0), ("mouse", 5, 18.0),
]
revenue = {}
for product, qty, price in sales:
    revenue[product] = revenue.get(product, 0) + qty * price
top = sorted(revenue.items(), key=lambda x: x[1], reverse=True)[:3]
print("Top products by revenue:")
for rank, (product, rev) in enumerate(top, 1):
    print(f"{rank}. {product.capitalize()}: ${rev:,.2f}")
share = top[0][1] / sum(revenue.values()) * 100
print(f"Leader share: {share:.1f}%")
