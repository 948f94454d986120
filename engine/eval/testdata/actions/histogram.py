scores = [55, 62, 71, 68, 90, 85, 77, 73, 66, 59, 95, 81]
buckets = {}
for s in scores:
    b = s // 10 * 10
    buckets[b] = buckets.get(b, 0) + 1
for b in sorted(buckets):
    print(f"{b:3d}-{b + 9:<3d} {'#' * buckets[b]} ({buckets[b]})")
avg = sum(scores) / len(scores)
variance = sum((x - avg) ** 2 for x in scores) / len(scores)
print(f"average {avg:.2f}, std {variance ** 0.5:.2f}")
