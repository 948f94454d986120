import csv
import io

raw = """sku,qty,price
A1,3,2.50
B2,0,10.00
C3,12,0.99
"""
reader = csv.DictReader(io.StringIO(raw))
total = 0.0
for row in reader:
    line = int(row["qty"]) * float(row["price"])
    total += line
    print(row["sku"], line)
print("total", round(total, 2))
