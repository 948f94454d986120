import os

for name in sorted(os.listdir("/tmp")):
    path = os.path.join("/tmp", name)
    if os.path.isfile(path) and name.endswith(".txt"):
        print(name, os.path.getsize(path))
