employees = [
    {"name": "Ana", "dept": "eng", "age": 31},
    {"name": "Bob", "dept": "ops", "age": 45},
    {"name": "Cy", "dept": "eng", "age": 28},
    {"name": "Di", "dept": "ops", "age": 45},
]
employees.sort(key=lambda e: (e["dept"], -e["age"], e["name"]))
for e in employees:
    print("{dept:5}{name:5}{age}".format(**e))
oldest = max(employees, key=lambda e: e["age"])
print("Oldest:", oldest["name"])
youngest = min(employees, key=lambda e: e["age"])["name"]
print("Youngest:", youngest)
