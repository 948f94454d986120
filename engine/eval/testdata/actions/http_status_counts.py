access_log = [
    '10.0.0.1 - - [01/Mar/2026] "GET /index.html HTTP/1.1" 200 512',
    '10.0.0.2 - - [01/Mar/2026] "POST /login HTTP/1.1" 401 64',
    '10.0.0.1 - - [01/Mar/2026] "GET /admin HTTP/1.1" 403 0',
    '10.0.0.3 - - [01/Mar/2026] "GET /index.html HTTP/1.1" 200 512',
]
status_counts = {}
bytes_by_ip = {}
for entry in access_log:
    parts = entry.split('"')
    ip = parts[0].split()[0]
    status, size = parts[2].split()
    status_counts[status] = status_counts.get(status, 0) + 1
    bytes_by_ip[ip] = bytes_by_ip.get(ip, 0) + int(size)
print(status_counts)
print({ip: b for ip, b in bytes_by_ip.items() if b > 0})
errors = sum(c for s, c in status_counts.items() if s[0] in "45")
print(f"error rate: {errors / len(access_log):.0%}")
