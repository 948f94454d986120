counter = 0

def increment(by=1):
    global counter
    counter += by
    return counter

increment()
increment(5)
increment()
print("Counter is", counter)
