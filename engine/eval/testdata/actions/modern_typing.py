from __future__ import annotations

def lookup(table: dict[str, list[int]], key: str, default: int | None = None) -> int | None:
    values = table.get(key)
    return values[0] if values else default

inventory: dict[str, list[int]] = {"bolt": [4, 8], "nut": []}
count: int = 0
for name in inventory:
    v = lookup(inventory, name)
    count += v or 0
    print(name, v)
print("count:", count)
