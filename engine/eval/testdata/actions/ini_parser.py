ini = """
[database]
host = db.internal
port = 5432

[cache]
# local only
enabled = yes
ttl = 60
"""
config, section = {}, None
for raw in ini.splitlines():
    line = raw.strip()
    if not line or line.startswith("#"):
        continue
    if line.startswith("[") and line.endswith("]"):
        section = line[1:-1]
        config[section] = {}
    else:
        key, _, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if value.isdigit():
            value = int(value)
        elif value in ("yes", "no"):
            value = value == "yes"
        config[section][key] = value
print(config)
print(config["database"]["port"] + 1)
