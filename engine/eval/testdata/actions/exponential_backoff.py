def compute_delays(base=0.5, factor=2, max_delay=10, tries=7):
    delays = []
    d = base
    while len(delays) < tries:
        delays.append(min(d, max_delay))
        d *= factor
    return delays

delays = compute_delays()
print(delays)
print("total wait:", sum(delays))
