defaults = {"retries": 3, "timeout": 30, "verbose": False}
overrides = {"timeout": 10, "verbose": True}
config = {**defaults, **overrides}
print(config)
print(defaults | overrides == config)
defaults |= {"extra": None}
print(defaults)
inverted = {v: k for k, v in {"a": 1, "b": 2}.items()}
print(inverted)
popped = config.pop("verbose")
print(popped, "verbose" in config, config.get("missing", "n/a"))
for k in list(config):
    if k.startswith("r"):
        del config[k]
print(config, len(config))
