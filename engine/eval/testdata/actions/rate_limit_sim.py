limit = 3
window = 10
requests_log = []
results = []
for t in [0, 1, 2, 3, 9, 10, 11, 12, 30]:
    requests_log = [r for r in requests_log if t - r < window]
    if len(requests_log) < limit:
        requests_log.append(t)
        results.append((t, True))
    else:
        results.append((t, False))
for t, ok in results:
    print(f"t={t:<3}{'allowed' if ok else 'denied'}")
print("denied:", sum(1 for _, ok in results if not ok))
