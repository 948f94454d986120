from collections import Counter, defaultdict, OrderedDict, deque, namedtuple
c = Counter([1,2,2,3,3,3])
print(c, c.most_common(2), c[9], c.total(), c.elements() if False else list(c.elements()))
c.update([1,1,1,1]); c.subtract({3: 5}); print(c, len(c))
print(Counter(a=3, b=1) + Counter(a=1, b=2), Counter(a=3, b=1) - Counter(a=1, b=2), Counter(a=3,b=1) | Counter(b=5), Counter(a=3,b=1) & Counter(a=1,b=2))
print(Counter(a=0) == Counter(), Counter(a=1) == {"a": 1}, isinstance(c, dict), isinstance(c, Counter))
d = defaultdict(list)
d["x"].append(1); d["x"].append(2); d["y"]
print(d, dict(d), "z" in d, d.get("z"), len(d))
n = defaultdict(lambda: defaultdict(int))
n[1][2] += 3
print(n[1][2], n[5][6], list(n.keys()))
o = OrderedDict()
for i in range(5): o[i] = i * i
o.move_to_end(1); o.move_to_end(3, last=False); print(o, o.popitem(), o.popitem(last=False), list(o))
print(OrderedDict([(1,2),(3,4)]) == OrderedDict([(3,4),(1,2)]), OrderedDict([(1,2),(3,4)]) == {3:4,1:2})
q = deque([1,2,3], maxlen=4)
q.append(4); q.append(5); q.appendleft(0); print(q, len(q), q[0], q[-1], q.maxlen)
q.rotate(1); print(q); q.rotate(-2); print(q, list(q), 5 in q)
q = deque()
for i in range(100):
    q.append(i); q.appendleft(-i)
    if i % 3 == 2: q.pop(); q.popleft(); q.popleft()
print(len(q), sum(q), q[0], q[-1], q.count(3))
q.extendleft([7, 8]); q.insert(2, 99); q.remove(99); q.reverse(); print(list(q)[-3:], q.index(8))
q[0] = 5; print(q[0], q == deque(q), deque([1]) == [1])
Point = namedtuple("Point", ["x", "y"])
p = Point(1, y=2); x, y = p
print(p, p.x, p[1], x + y, p == (1, 2), p._replace(x=5), p._asdict(), Point._fields, Point._make([3, 4]), {p: 1}[(1, 2)], p < (1, 3), isinstance(p, Point), isinstance(p, tuple), Point)
P2 = namedtuple("P2", "a b c", defaults=[3]); print(P2(1, 2), len(p), 2 in p, sorted([Point(2,1), Point(1,9)]))
for w in ["a b", "c"]: c[w] += 1
print(c.most_common(1), [k for k in c])
