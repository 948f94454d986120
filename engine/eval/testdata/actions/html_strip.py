import re
import html

page = "<h1>Hello &amp; welcome</h1><p>Price: <b>5&nbsp;EUR</b></p>"
text = re.sub(r"<[^>]+>", " ", page)
text = html.unescape(text)
print(" ".join(text.split()))
