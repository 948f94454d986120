package eval

// What the dialect adds to Starlark, for the generator of random programs.
func init() {
	add := func(typ byte, texts ...string) {
		vocabulary[typ].ops = append(vocabulary[typ].ops, templatesOf(texts...)...)
	}
	add('I', "($S ** $S)", "(2 ** $S)", "pow($S, $S)", "pow($I, $S, 5)", "pow(base = $S, exp = 2)", "-$S ** 2")
	add('G', "($G ** 2)", "(2 ** -$S)")
	add('B',
		"$I < $I < $I", "$I <= $I == $I", "0 < $I < $C", "$I < $I > $C != $I", "$I in $L != $L", "$S == $S in $E", "$T < $T <= $T", "$I < $C < $I < $C",
		"$A is None", "$A is not None", "(None if $B else $I) is None", "$B is True", "$A is not False", "$I == $I is not None", "0 < len($R) < $S")
	add('T',
		`f"{($I)}"`, `f"a{($A)}b"`, `f"{($I)}{($T)}"`, `f"{($L)}{($C)}"`, `f"{($R)}{(pop($R))}"`, `f"{($A)!r:>9}"`, `f"{($I):{($S)}}"`, `f"{($I):<{1 if $B else 2}d}"`, `f"{#I=}{#L=}"`, `f"{($T):^{($S)}}{{}}"`, `(f"{($G):.{($S)}f}" "b")`,
		`f"{f'{($I)}' if $B else ''}"`, `("a" "b" if $B else "c")`, `f"{($C)!s}{(send($I))}"`)
	simpleStmts = append(simpleStmts, templatesOf("@I **= $S", "send($I < $C < $I)", "$B is None and $C", `print(f"{($A)}")`)...)
	leakStmts = append(leakStmts, templatesOf(
		"q0 = []\ndef r0():\n  q0.append(1)\n  return 5\nn0 = 0 < $I < r0()\nsend(len(q0))",
		"n0 = 0 < $I < send(1)", "if 0 < $I < 2 < $I: send(1)\nsend(2)")...)
	enderStmts = append(enderStmts, templatesOf("send($I ** $I)", "send($A ** $A)", "send(pow($A, $A))", "send(pow($I, $I, $I))", "send($A < $A < $A)", `send(f"{($A):{($T)}}")`, `send(f"{($A):>5}")`, `send(f"{($I):{($I)}}")`, "send($A in $A < $A)")...)
}
