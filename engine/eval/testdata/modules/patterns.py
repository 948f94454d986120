import re

texts = ["", "a", "ab", "aab abb", "foo123bar45", "x=1, y = 22;z=", "ana@corp.example, bob@x.org", "line one\nline two\n", "aaa", "abab", "The rain in Spain", "a.b*c", "Jürgen  Müller 99", "2024-01-31 and 1999-12-01", "\t tab\n", "((x))", "AbC abc ABC", "   ", "a\nb\n", "foo foo bar"]
patterns = [r"a", r"a*", r"a+", r"a?", r"a*?", r"(a)(b)?", r"(?:a*)*b", r"(?:a*)+", r"(a|b)*", r"(?:a|ab)(?:c|bcd)*", r"\d+", r"\D+", r"\w+", r"\W+", r"\s+", r"\S+", r"\bfoo\b", r"\b", r"\B", r"^", r"$", r"^a", r"b$", r"\Aa", r"b\Z", r"(?m)^\w+", r"(?m)\w+$", r"(?i)abc", r"(?i:A)bc", r"(?s).+", r".+", r"(\w+)\s*=\s*(\d*)", r"(?P<user>\w+)@(?P<host>[\w.]+)", r"(\d{4})-(\d{2})-(\d{2})", r"a{2}", r"a{1,2}", r"a{,2}", r"a{2,}", r"a{0}", r"a{1,2}?", r"x*", r"", r"|a", r"a|", r"[abc]+", r"[^abc]+", r"[a-c0-9]+", r"[]a]+", r"[^]a]+", r"[\w.]+", r"[^\W\d_]+", r"[\d-]+", r"[a\-z]", r"\.", r"[.*]", r"\(+(\w)\)+", r"(?x) a  b # comment", r"(?x)[ ]+ \ ", r"(?a)\w+", r"ü", r"[à-ü]+", r"(?i)MÜ", r"\x61", r"\u0061b", r"\t", r"[\t\n ]", r"(foo|bar)+", r"(?:(foo)|(bar))\d*", r"(a)|(b)", r"(a)|b", r"((a)(b))", r"(?:a(b)?)+", r"(a+|b+)+$", r"{", r"a{", r"a{x}", r"a|b|c", r"(?:)", r"()", r"(?#x)a", r"rain|Spain|in", r"\w+ \w+", r".*a", r".*?a", r"(.)(.)", r"[^,;]+", r"\s*[,;]\s*", r"(?:\d+(?:\.\d+)?)", r"aa*", r"(x|xy)(z|=1)?", r"^\s*$", r"(?m)^", r"(?m)$", r"^$", r"[A-Z][a-z]+", r"(\w)(\w*)", r"\n", r"a(?:b|c|d){0,2}b?", r"(?i)[a-c]+", r"(?i)[^a-c]+", r"(?:a{2}){1,2}", r"(a{1,2}){2}", r"(?P<a>a)(?P<b>b)?"]

def show(m):
    if m is None:
        return None
    return (m.span(), m.group(), m.groups(), m.groupdict(), m.lastindex, m.lastgroup)

for p in patterns:
    r = re.compile(p)
    for t in texts:
        if "ü" in t:  # positions are bytes here
            print(p, r.findall(t), r.sub("<\\g<0>>", t), r.split(t, 2))
            continue
        print(p, show(r.search(t)), show(r.match(t)), show(r.fullmatch(t)), r.findall(t), r.sub("<\\g<0>>", t), r.subn("-", t, 2), r.split(t), r.split(t, 1), [m.span() for m in r.finditer(t)])

print(re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"), re.sub("a", "b", "aaa", count=2), re.sub("(?P<x>a)", r"[\g<x>\g<1>\\\n\t]", "cat"))
print(re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "1 and 22"), re.sub("x*", "-", "abxd"), re.subn("b", lambda m: m[0].upper(), "abcb"))
print(re.findall("A", "aAa", re.I), re.findall("^a", "a\na", re.M), re.search("a.b", "a\nb", re.S) is not None, re.findall("a b", "ab", re.X | re.I), re.split(r"\s", "a b c", maxsplit=1))
m = re.search(r"(?P<k>\w+)=(?P<v>\w+)?", "say key= now")
print(m.group("k"), m["k"], m[1], m.group(1, 2), m.groups("none"), m.groupdict("x"), m.start("k"), m.end(1), m.span(2), m.string, m.re.pattern, bool(m), m.expand(r"\1-\g<k>"))
print(re.escape("a.b*c [x] (é) -_~#&"), re.compile("a").groups, re.compile("(a)(?P<n>b)").groupindex, re.compile("a") == re.compile("a"), re.compile("a").flags)
p = re.compile("[a-z]+", re.I)
print(p.search("12abc", 3).group(), p.match("12abc", 2).span(), p.findall("abc def", 1, 5), p.fullmatch("abcd", 1, 3).group(), p.pattern)
print(re.search("a", "b"), re.search("b+", "abbb"), re.compile("a", re.I | re.M), [m.group() for m in re.finditer("[0-9]+|[a-z]+|[+*]", "x1+22*y")])
text = "Invoice #1234 dated 2024-03-05 for $1,234.50 to ACME Corp. <billing@acme.example>"
print(re.search(r"\$([\d,]+\.\d{2})", text).group(1), re.search(r"#(\d+)", text)[1], re.search(r"<([^>]+)>", text).group(1), re.findall(r"[A-Z]{2,}", text))
for kind, value in [(m.lastgroup, m.group()) for m in re.finditer(r"(?P<num>\d+(?:\.\d*)?)|(?P<id>[A-Za-z_]\w*)|(?P<op>[-+*/=()])|(?P<skip>\s+)", "x = 3.5*(y_1 + 42)")]:
    if kind != "skip":
        print(kind, value, end=" ")
print()
