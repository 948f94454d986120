def validate_order(order):
    errors = []
    if not isinstance(order.get("id"), int):
        errors.append("id must be an integer")
    if order.get("quantity", 0) <= 0:
        errors.append("quantity must be positive")
    email = order.get("email", "")
    if "@" not in email or email.startswith("@"):
        errors.append("email is invalid")
    return errors

orders = [
    {"id": 1, "quantity": 2, "email": "a@b.example"},
    {"id": "2", "quantity": 0, "email": "nope"},
    {"id": 3, "quantity": 1},
]
for o in orders:
    errs = validate_order(o)
    print(o["id"], "OK" if not errs else "; ".join(errs))
