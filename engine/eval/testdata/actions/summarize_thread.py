thread = [
    {"from": "ana", "text": "Can we move the meeting to Friday?\n\nThanks"},
    {"from": "bob", "text": "Friday works.\n> Can we move the meeting to Friday?"},
    {"from": "ana", "text": "Great, 10:00 then."},
]
participants = []
summary_lines = []
for msg in thread:
    if msg["from"] not in participants:
        participants.append(msg["from"])
    body = [l for l in msg["text"].splitlines() if l and not l.startswith(">")]
    summary_lines.append("- " + msg["from"].capitalize() + ": " + body[0])
print("Participants: " + ", ".join(participants))
print("\n".join(summary_lines))
