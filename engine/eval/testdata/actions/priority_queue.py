import heapq

tasks = [(3, "low"), (1, "urgent"), (2, "normal"), (1, "also urgent")]
heap = []
for t in tasks:
    heapq.heappush(heap, t)
while heap:
    prio, name = heapq.heappop(heap)
    print(prio, name)
print(heapq.nlargest(2, [5, 1, 9, 7]))
