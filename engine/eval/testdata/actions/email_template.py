template = """Dear {name},

Your order {order_id} of {total:.2f} {currency} has been {status}.

Regards,
The Team"""

customers = [
    {"name": "Ana", "order_id": "#1001", "total": 59.9, "currency": "EUR", "status": "shipped"},
    {"name": "Bob", "order_id": "#1002", "total": 120, "currency": "USD", "status": "delayed"},
]
for c in customers:
    print(template.format(**c))
    print("=" * 10)
