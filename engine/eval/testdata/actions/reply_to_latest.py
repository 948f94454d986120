inbox = [
    {"id": "m1", "from": {"name": "Ana", "email": "ana@corp.example"}, "subject": "Budget", "date": "2026-03-01T08:00:00Z"},
    {"id": "m2", "from": {"name": None, "email": "noreply@bank.example"}, "subject": "Statement", "date": "2026-03-02T07:30:00Z"},
    {"id": "m3", "from": {"name": "Ana", "email": "ana@corp.example"}, "subject": "Re: Budget", "date": "2026-03-02T09:15:00Z"},
]
sent = []

def send_email(to, subject, body):
    """Stub of the mail tool."""
    sent.append({"to": to, "subject": subject, "body": body})
    return {"status": "sent", "id": f"out-{len(sent)}"}

latest = None
for mail in inbox:
    if "budget" not in mail["subject"].lower():
        continue
    if latest is None or mail["date"] > latest["date"]:
        latest = mail

# Reply to the most recent one
if latest:
    name = latest["from"]["name"] or "there"
    subject = latest["subject"] if latest["subject"].startswith("Re:") else "Re: " + latest["subject"]
    result = send_email(latest["from"]["email"], subject, f"Hi {name},\n\nThe budget is approved.\n")
    print(f"Replied to {latest['id']} ({latest['date'][:10]}): {result['status']} as {result['id']}")
    print(repr(sent[0]["body"]))
