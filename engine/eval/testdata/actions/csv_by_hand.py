csv_text = """name,department,salary
Ana,Engineering,5200
Bob,Sales,4100
Cleo,Engineering,6100
Dan,Sales,3900
"""
lines = csv_text.strip().split("\n")
header = lines[0].split(",")
rows = [dict(zip(header, line.split(","))) for line in lines[1:]]
by_dept = {}
for row in rows:
    by_dept.setdefault(row["department"], []).append(int(row["salary"]))
for dept, salaries in by_dept.items():
    print(f"{dept}: n={len(salaries)} avg={sum(salaries) / len(salaries):.1f} max={max(salaries)}")
