from dataclasses import dataclass, field
from typing import List

@dataclass
class Item:
    sku: str
    qty: int
    price: float

@dataclass
class Order:
    id: int
    items: List[Item] = field(default_factory=list)
    note: str = ""

order = Order(7)
order.items.append(Item("A1", 2, 9.99))
order.items.append(Item("B2", 1, 24.5))
order.note = "gift wrap"
total = sum(i.qty * i.price for i in order.items)
print(f"Order {order.id}: {len(order.items)} items, total {total:.2f} ({order.note})")
print(order.items[0])
print(Item("x", 1, 2.0) == Item("x", 1, 2.0))
