def parse_version(v):
    return tuple(int(p) for p in v.lstrip("v").split("."))

versions = ["v1.2.10", "v1.2.9", "1.10.0", "v0.9.12"]
latest = max(versions, key=parse_version)
print("latest:", latest)
print(sorted(versions, key=parse_version))
print(parse_version("1.2.3") < (1, 3), parse_version("2.0") >= (2, 0))
