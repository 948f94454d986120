import re

body = "Contact ana.lopez@corp.example or sales+eu@shop.example. Not an email: foo@bar, @nobody"
emails = re.findall(r"[\w.+-]+@[\w-]+\.[\w.-]*\w", body)
print(emails)
domains = sorted({e.split("@")[1] for e in emails})
print(domains)
m = re.search(r"(?P<user>[\w.]+)@", body)
print(m.group("user"), m.start(), m.end())
print(re.sub(r"@\S+", "@***", body))
