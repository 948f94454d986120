def iban_valid(iban: str) -> bool:
    iban = iban.replace(" ", "").upper()
    moved = iban[4:] + iban[:4]
    digits = "".join(str(int(ch, 36)) for ch in moved)
    return int(digits) % 97 == 1

for candidate in ["DE89 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32", "DE00 3704 0044 0532 0130 00"]:
    print(candidate, iban_valid(candidate))
