def evaluate(expr):
    stack = []
    for tok in expr.split():
        if tok in "+-*/":
            b, a = stack.pop(), stack.pop()
            if tok == "+":
                stack.append(a + b)
            elif tok == "-":
                stack.append(a - b)
            elif tok == "*":
                stack.append(a * b)
            else:
                stack.append(a / b)
        else:
            stack.append(float(tok))
    return stack[-1]

for e in ["3 4 +", "5 1 2 + 4 * + 3 -", "10 4 /"]:
    print(f"{e} = {evaluate(e)}")
