import textwrap
texts = ["", "hello", "The quick brown fox jumps over the lazy dog. It was a well-known, state-of-the-art e-mail re-design -- or so they said--twice.", "  leading and   inner   spaces  ", "averyveryverylongwordthatdoesnotfit in here", "a\tb\nc\n\nd", "one two three four five six seven eight nine ten " * 5, "semi-final-x-y co-op A-1 1-2 x--y --flag -o foo-bar-baz", "wörter mit ümlauten und ähnlichem zeug"]
for t in texts:
    for w in [1, 5, 10, 20, 40, 70]:
        print(w, textwrap.wrap(t, w), repr(textwrap.fill(t, width=w)))
    print(textwrap.wrap(t, 12, initial_indent="* ", subsequent_indent="  "), textwrap.wrap(t, 10, break_long_words=False), textwrap.wrap(t, 15, break_on_hyphens=False), textwrap.wrap(t, 20, max_lines=2), textwrap.wrap(t, 20, max_lines=1, placeholder="..."), textwrap.wrap(t, 20, drop_whitespace=False))
    for w in [6, 10, 20, 60]:
        print(textwrap.shorten(t, w), textwrap.shorten(t, width=w, placeholder="..."))
    print(repr(textwrap.indent(t, "> ")), repr(textwrap.indent(t, "> ", lambda line: True)), repr(textwrap.dedent(t)))
print(repr(textwrap.dedent("\n    a\n      b\n   \n    c\n")), repr(textwrap.dedent("\ta\n\t  b\n  c")), repr(textwrap.dedent("  a\n b")), repr(textwrap.indent("a\n\n  \nb\r\nc", "--")))
