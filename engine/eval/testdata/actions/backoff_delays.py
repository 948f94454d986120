import time

delay = 1
for attempt in range(3):
    print("try", attempt)
    time.sleep(delay)
    delay *= 2
