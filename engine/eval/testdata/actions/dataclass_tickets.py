from dataclasses import dataclass

@dataclass
class Ticket:
    id: int
    title: str
    priority: str = "low"

tickets = [Ticket(1, "Login broken", "high"), Ticket(2, "Typo"), Ticket(3, "Slow page", priority="medium")]
order = {"high": 0, "medium": 1, "low": 2}
for t in sorted(tickets, key=lambda t: order[t.priority]):
    print(f"#{t.id} [{t.priority.upper()}] {t.title}")
