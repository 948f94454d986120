import re

mail = """Hi,
the total is $1,234.56 plus a fee of $20 and a refund of $5.5.
IBAN: DE89 3704 0044 0532 0130 00
"""
amounts = [float(a.replace(",", "")) for a in re.findall(r"\$([\d,]+(?:\.\d+)?)", mail)]
print(amounts, sum(amounts))
iban = re.search(r"\b([A-Z]{2}\d{2}(?:\s?\d{4}){4}\s?\d{2})\b", mail)
if iban:
    compact = iban.group(1).replace(" ", "")
    print(compact, len(compact))
else:
    print("no IBAN")
