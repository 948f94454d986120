from typing import Any, Dict, List, Optional, Tuple, Union

Number = Union[int, float]

def parse_kv(line: str) -> Optional[Tuple[str, str]]:
    """Parse 'key=value', or return None."""
    if "=" not in line:
        return None
    key, value = line.split("=", 1)
    return key.strip(), value.strip()

def load(lines: List[str]) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    for line in lines:
        kv = parse_kv(line)
        if kv is not None:
            out[kv[0]] = kv[1]
    return out

settings = load(["host = localhost", "# comment", "path = /a=b", "empty="])
print(settings)
