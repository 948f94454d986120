messages = [
    ("win a FREE prize now!!!", "x@spam.example"),
    ("Minutes of today's meeting", "ana@corp.example"),
    ("Cheap meds, free shipping", "y@pharm.example"),
]
spam_words = ("free", "prize", "cheap", "winner")

def score(text):
    t = text.lower()
    s = sum(2 for w in spam_words if w in t)
    s += text.count("!")
    if text.isupper():
        s += 5
    return s

for text, sender in messages:
    sc = score(text)
    verdict = "SPAM" if sc >= 3 else "ok"
    print(f"{verdict:<5}{sc:>3}  {sender:<20}{text[:20]}{'...' if len(text) > 20 else ''}")
