import requests

resp = requests.get("https://api.example.com/users", params={"page": 1}, timeout=10)
resp.raise_for_status()
for user in resp.json()["data"]:
    print(user["id"], user["email"])
