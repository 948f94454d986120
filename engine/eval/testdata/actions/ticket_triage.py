def fetch_tickets():
    return [
        {"id": 101, "subject": "URGENT: site down", "body": "Nothing works since 9am"},
        {"id": 102, "subject": "Question about billing", "body": "Why was I charged twice?"},
        {"id": 103, "subject": "feature idea", "body": "dark mode please"},
    ]

KEYWORDS = {
    "outage": ["down", "nothing works", "outage"],
    "billing": ["charged", "invoice", "billing"],
}

def classify(ticket):
    text = (ticket["subject"] + " " + ticket["body"]).lower()
    for category, words in KEYWORDS.items():
        if any(w in text for w in words):
            return category
    return "other"

for t in fetch_tickets():
    category = classify(t)
    prio = 1 if category == "outage" or "urgent" in t["subject"].lower() else 3
    print(f"Ticket #{t['id']}: {category} (P{prio})")
