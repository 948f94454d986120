name, qty, price = "Widget", 7, 3.14159
print("%s x%d @ %.2f = %8.3f" % (name, qty, price, qty * price))
print("%-10s|%5d|%05.1f" % (name, qty, price))
print("{} {} {}".format(name, qty, price))
print("{0} {1} {0}".format("a", "b"))
print("{:>10} {:<10} {:^10}|".format("r", "l", "c"))
print("{:,} {:.2%} {:+d}".format(1234567, 0.1234, 5))
print("%(user)s has %(n)d items" % {"user": "ana", "n": 3})
print("100%% sure: %r" % "yes")
