attempts_made = []

def flaky(n):
    attempts_made.append(n)
    if n < 3:
        raise ValueError(f"temporary failure {n}")
    return "ok"

result = None
for attempt_no in range(1, 6):
    try:
        result = flaky(attempt_no)
        break
    except ValueError as e:
        print(f"Attempt {attempt_no} failed: {e}")
print("Result:", result, "after", len(attempts_made), "attempts")
