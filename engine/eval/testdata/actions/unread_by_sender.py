def search_mail(query):
    return [
        {"from": "ana@corp.example", "subject": "Q3 numbers", "unread": True},
        {"from": "bob@corp.example", "subject": "lunch?", "unread": False},
        {"from": "ana@corp.example", "subject": "Re: Q3 numbers", "unread": True},
        {"from": "eve@other.example", "subject": "offer", "unread": True},
    ]

mails = search_mail("in:inbox")
counts = {}
for m in mails:
    if m["unread"]:
        counts[m["from"]] = counts.get(m["from"], 0) + 1
for sender, n in sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])):
    print(sender, n)
