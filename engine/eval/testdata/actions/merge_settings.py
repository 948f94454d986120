defaults = {"limit": 10, "sort": "date"}
user = {"limit": 25}
settings = {**defaults, **user, "page": 1}
for key in sorted(settings):
    print(f"{key}={settings[key]!s}")
del settings["page"]
a = b = len(settings)
print(a, b, a ** b)
