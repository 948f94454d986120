from enum import Enum

class Status(Enum):
    OPEN = "open"
    CLOSED = "closed"

tickets = [("T1", Status.OPEN), ("T2", Status.CLOSED), ("T3", Status.OPEN)]
print([t for t, s in tickets if s == Status.OPEN])
print(Status.OPEN.value, Status("closed").name)
