passwords = ["abc", "longenough1", "NoDigitsHere", "G00dPassword!"]

def problems(p):
    issues = []
    if len(p) < 8:
        issues.append("too short")
    if not any(c.isdigit() for c in p):
        issues.append("no digit")
    if not any(c.isupper() for c in p):
        issues.append("no upper-case letter")
    return issues

for p in passwords:
    issues = problems(p)
    print(f"{p[:3]}***: {', '.join(issues) or 'ok'}")
