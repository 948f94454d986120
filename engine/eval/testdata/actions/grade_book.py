students = {
    "Ana": {"math": 91, "physics": 84},
    "Bob": {"math": 67, "physics": 72, "art": 95},
    "Cy": {},
}

def average(marks):
    return sum(marks.values()) / len(marks) if marks else None

for name, marks in students.items():
    avg = average(marks)
    if avg is None:
        print(f"{name}: no marks")
        continue
    if avg >= 90:
        grade = "A"
    elif avg >= 80:
        grade = "B"
    elif avg >= 70:
        grade = "C"
    else:
        grade = "F"
    print(f"{name}: {avg:.1f} -> {grade}")
subjects = {s for marks in students.values() for s in marks}
print(sorted(subjects))
