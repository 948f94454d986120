class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount
        return self.balance

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("insufficient funds")
        self.balance -= amount
        return self.balance

acc = Account("Ana", 100)
acc.deposit(50)
try:
    acc.withdraw(500)
except ValueError as e:
    print("Error:", e)
print(acc.owner, acc.withdraw(30))
