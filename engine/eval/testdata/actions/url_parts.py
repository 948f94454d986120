from urllib.parse import urlparse, parse_qs

u = urlparse("https://shop.example:8443/items/42?color=red&size=m&size=l#top")
print(u.scheme, u.netloc, u.path)
print(parse_qs(u.query))
