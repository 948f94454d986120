def report(title, *values, sep=", ", **meta):
    line = title + ": " + sep.join(str(v) for v in values)
    if meta:
        line += " [" + " ".join(f"{k}={v}" for k, v in sorted(meta.items())) + "]"
    return line

print(report("numbers", 1, 2.5, None))
print(report("mixed", "a", True, sep="/", unit="kg", src="db"))
args = ("x", "y")
kw = {"sep": "-"}
print(report("spread", *args, **kw))
