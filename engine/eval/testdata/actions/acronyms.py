phrases = ["portable network graphics", "Light Amplification by Stimulated Emission of Radiation"]
for p in phrases:
    words = [w for w in p.split() if w.lower() not in {"by", "of", "the"}]
    print("".join(w[0].upper() for w in words))
print(" ".join(w.capitalize() for w in "the lord of the rings".split()))
print("snake_case_name".title().replace("_", ""))
print("a,b;c d".replace(";", ",").replace(" ", ",").split(","))
