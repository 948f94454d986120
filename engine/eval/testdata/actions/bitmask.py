READ, WRITE, EXEC = 1, 2, 4
perms = READ | WRITE
print(perms & WRITE != 0, perms & EXEC != 0)
perms |= EXEC
perms &= ~WRITE
print(bin(perms), f"{perms:03b}")
perms ^= READ
print(perms, 1 << 5, 0xFF >> 4)
