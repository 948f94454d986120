temps = {"Oslo": -3, "Rome": 14, "Cairo": 31}
for city, t in temps.items():
    label = "freezing" if t <= 0 else "mild" if t < 25 else "hot"
    print(city, label, t > 10 and t < 20)
print(any(t < 0 for t in temps.values()), all(t < 40 for t in temps.values()))
print(sum(t > 0 for t in temps.values()), "cities above zero")
print(not temps, bool([]), bool("x"))
