principal = 10000.0
annual_rate = 0.06
months = 6
r = annual_rate / 12
payment = principal * r / (1 - (1 + r) ** -months)
balance = principal
print(f"Monthly payment: {payment:.2f}")
for m in range(1, months + 1):
    interest = balance * r
    principal_part = payment - interest
    balance -= principal_part
    print(f"{m:>2} {interest:8.2f} {principal_part:10.2f} {max(balance, 0):12,.2f}")
