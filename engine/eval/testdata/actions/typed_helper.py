from typing import List, Optional

def find(names: List[str], prefix: str) -> Optional[str]:
    for name in names:
        if name.startswith(prefix):
            return name
    return None

result = find(["ana", "bob", "eve"], "b")
print(result, find([], "x") is None)
assert result == "bob", f"unexpected {result}"
