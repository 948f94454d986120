def is_palindrome(s):
    s = "".join(c.lower() for c in s if c.isalnum())
    return s == s[::-1]

for phrase in ["A man, a plan, a canal: Panama", "Hello", "No lemon, no melon", ""]:
    print(f"{phrase!r}: {is_palindrome(phrase)}")
vowels = sum(1 for ch in "programming language" if ch in "aeiou")
print("vowels:", vowels)
