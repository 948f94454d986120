import re

line = "id=42; name=Ana Lopez;  city = Lima ;active=true"
pairs = dict(re.split(r"\s*=\s*", p.strip(), maxsplit=1) for p in line.split(";"))
print(pairs)
phone = "+49 (30) 123-456"
digits = re.sub(r"\D", "", phone)
print(digits, len(digits))
if re.fullmatch(r"\d{8,}", digits):
    print("valid")
for m in re.finditer(r"(\w+)=(\w+)", "a=1 b=2 c=x"):
    print(m.group(1), "->", m.group(2))
