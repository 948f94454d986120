config = {"host": "localhost", "port": "8080"}
for key in ["host", "port", "timeout"]:
    try:
        value = config[key]
    except KeyError:
        value = "<default>"
        print(f"{key} missing, using default")
    else:
        print(f"{key} found")
    print(f"{key} = {value}")
