def caesar(text, shift):
    result = []
    for c in text:
        if c.isalpha():
            base = ord("A") if c.isupper() else ord("a")
            result.append(chr((ord(c) - base + shift) % 26 + base))
        else:
            result.append(c)
    return "".join(result)

enc = caesar("Attack at Dawn!", 3)
print(enc)
print(caesar(enc, -3))
