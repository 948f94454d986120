attendance = {
    "Mon": ["ana", "bob", "cy"],
    "Tue": ["ana", "cy"],
    "Wed": ["bob", "cy", "di"],
}
everyone = sorted({p for people in attendance.values() for p in people})
print("          " + " ".join(f"{d:>4}" for d in attendance))
for person in everyone:
    marks = ["x" if person in attendance[d] else "-" for d in attendance]
    print(f"{person:<10}" + " ".join(f"{m:>4}" for m in marks))
always = [p for p in everyone if all(p in ps for ps in attendance.values())]
print("always present:", always)
