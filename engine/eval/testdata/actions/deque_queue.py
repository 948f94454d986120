from collections import deque

queue = deque(["task1", "task2", "task3"])
queue.append("task4")
queue.appendleft("urgent")
processed = []
while queue:
    task = queue.popleft()
    processed.append(task)
    if task == "task2":
        queue.append("task2-followup")
print(processed)
