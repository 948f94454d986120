names = ["José", "Zoë", "Łukasz", "Ana"]
for n in names:
    print(n, len(n), n.upper())
print(sorted(names))
print(max(names, key=len))
print("José"[-1], "naïve".replace("ï", "i"))
print("✓" if all(names) else "✗", f"{'é':>4}|")
