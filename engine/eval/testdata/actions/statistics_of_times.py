import statistics
from math import sqrt, ceil
times = [12.5, 14.0, 11.75, 19.25]
print(f"mean={statistics.mean(times):.3f} median={statistics.median(times)} stdev={statistics.stdev(times):.4f}")
print(ceil(statistics.mean(times)), round(sqrt(sum(t ** 2 for t in times)), 3))
