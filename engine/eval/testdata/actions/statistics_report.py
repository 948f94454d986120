import statistics

response_times = [120, 135, 128, 300, 118, 122, 131]
mean = statistics.mean(response_times)
median = statistics.median(response_times)
stdev = statistics.stdev(response_times)
outliers = [x for x in response_times if abs(x - mean) > 2 * stdev]
print(f"mean={mean:.2f} median={median} stdev={stdev:.2f}")
print("outliers:", outliers)
