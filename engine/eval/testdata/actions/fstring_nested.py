width = 12
prec = 3
value = 3.14159265
rows = {"pi": value, "two": 2}
print(f"{value:{width}.{prec}f}|")
print(f"{'centered':^{width}}|{'left':<{width}}|")
print(f"{rows['pi']:.2f} {rows['two']:03d} {len(rows)=}")
print(f"{', '.join(f'{k}={v:.1f}' for k, v in rows.items())}")
print(f"{{literal}} {'yes' if value > 3 else 'no'} {value!r:>20}")
name = "x"
print(f"{name}" f"{name!r}" "-plain")
