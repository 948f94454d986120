votes = ["red", "blue", "red", "green", "blue", "red", "spoiled", ""]
valid = [v for v in votes if v in ("red", "blue", "green")]
tally = {c: valid.count(c) for c in ["red", "blue", "green"]}
winner, n = max(tally.items(), key=lambda kv: kv[1])
print(tally)
print(f"Winner: {winner} with {n} of {len(valid)} votes ({n / len(valid):.1%})")
print("invalid:", len(votes) - len(valid))
