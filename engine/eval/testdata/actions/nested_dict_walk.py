config = {
    "server": {"host": "localhost", "port": 8080, "tls": {"enabled": True, "cert": None}},
    "features": ["a", "b"],
    "debug": False,
}

def walk(d, prefix=""):
    for key, value in d.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            walk(value, path)
        else:
            print(f"{path} = {value!r}" if isinstance(value, (int, bool)) else f"{path} = {value}")

walk(config)
