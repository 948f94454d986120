import re
from collections import defaultdict

log = """
2026-03-01 10:00:01 INFO  auth: user 17 logged in
2026-03-01 10:00:04 ERROR db: connection lost (code=1042)
2026-03-01 10:00:05 WARN  db: retrying
2026-03-01 10:00:09 ERROR web: 500 on /checkout (code=500)
"""
pattern = re.compile(r"^(\S+ \S+) (\w+)\s+(\w+): (.*)$")
by_level = defaultdict(list)
for line in log.strip().splitlines():
    m = pattern.match(line)
    if m:
        ts, level, component, message = m.groups()
        by_level[level].append((component, message))

for level in sorted(by_level):
    print(f"{level}: {len(by_level[level])}")
codes = [int(c) for c in re.findall(r"code=(\d+)", log)]
print("codes:", codes)
