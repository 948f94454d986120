def get_user(user_id):
    users = {1: {"name": "Ana", "email": "ana@corp.example"}, 2: {"name": "Bob", "email": None}}
    return users.get(user_id)

for uid in [1, 2, 3]:
    user = get_user(uid)
    if user is None:
        print(f"user {uid} not found")
    elif user["email"] is None:
        print(f"user {uid} ({user['name']}) has no email")
    else:
        print(f"user {uid}: {user['email']}")
