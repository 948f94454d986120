store = {}
history = []

def execute(cmd):
    op, *args = cmd.split()
    if op == "SET":
        store[args[0]] = args[1]
        history.append(cmd)
        return "OK"
    elif op == "GET":
        return store.get(args[0], "(nil)")
    elif op == "DEL":
        return int(store.pop(args[0], None) is not None)
    else:
        return f"ERR unknown command '{op}'"

for c in ["SET a 1", "GET a", "GET b", "DEL a", "DEL a", "FLY x"]:
    print(f"{c:<8} => {execute(c)}")
print(history)
