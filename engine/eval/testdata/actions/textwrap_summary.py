import textwrap

summary = ("The committee reviewed the proposal in detail and decided to postpone the final vote "
           "until additional figures are provided by the finance department.")
print(textwrap.fill(summary, width=40))
print(textwrap.shorten(summary, width=50, placeholder="..."))
block = textwrap.dedent("""
    line one
      indented
    line two
""").strip()
print(textwrap.indent(block, "> "))
