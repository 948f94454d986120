from mini import *
S=lambda v:{'s':(v,0,1),'s2':(0,0,2)}
C={}
C['pc4-scope: helper call in arm, function returns']='''
a=[]
def g(xs): xs.append(1)
def f(c):
    if c: g(a)
f(s)
send(len(a))
'''
C['pc5-skip-break']='''
n=0
for c in [1,s,1]:
    if not c: break
    n+=1
send(n)
'''
C['pc5-skip-return']='''
box=[]
def f(c):
    if c: return
    box.append(1)
f(s)
send(len(box))
'''
C['pc3-rebind-in-arm']='''
a=[]
b=[]
x=a
if s:
    x=b
    x.append(1)
send(len(b))
'''
C['write via labelled reference']='''
a=[]
b=[]
c=a if s else b
c.append(1)
send(len(a))
'''
C['write at labelled index']='''
xs=[0,0]
xs[s]=1
send(xs[0])
'''
C['while pc per iteration']='''
q=[0,1,s,1]
while q.pop():
    send(len(q))
'''
C['comprehension filter']='''
send(len([1 for i in [0] if s]))
'''
C['comprehension effect']='''
xs=[]
[xs.append(1) for i in [0] if s]
send(len(xs))
'''
C['and operand effect']='''
xs=[]
s and xs.append(1)
send(len(xs))
'''
C['kwargs key']='''
def f(a=1,b=2):
    send(a)
d={}
d["b" if s else "a"]=9
f(**d)
'''
C['attempt(fn): operands of the error']='''
def body(): return div(1,s)
r=attempt_fn(body)
send(r[0])
'''
C['attempt(fn): skipped write']='''
box=[]
def body():
    div(1,s)
    box.append(1)
attempt_fn(body)
send(len(box))
'''
C['uncaught error then next turn']='''
div(1,s)
x=1
---
send(5)
'''
C['history quota']='''
send(0)
send(0)
if s: send(9)
send(quota())
'''
C['unbound name next turn']='''
if s: y=1
---
y
---
send(1)
'''
C['pc5-break skips a return']='''
def f(c):
    for i in [0]:
        if c: break
        return
    send(7)
f(s)
'''
C['pc5-continue skips a break']='''
n=0
for i in [0,1]:
    n=i
    if s: continue
    break
send(n)
'''
C['callee announces in one run only']='''
d=[]
def f(m):
    if s2:
        m.append(1)
if s: f(d)
send(len(d))
'''
C['try: what it binds']='''
n=0
try:
    n=1
    div(1,s)
    n=2
except ZeroDivisionError:
    n=3
send(n)
'''
C['try: skipped write']='''
box=[]
def body():
    div(1,s)
    box.append(1)
try: body()
except ZeroDivisionError: pass
send(len(box))
'''
C['try: an unforeseen error']='''
if s: x=1
try:
    x
    send(1)
except TypeError:
    pass
send(2)
'''
C['try: finally alone']='''
try:
    div(1,s)
    send(1)
finally:
    send(2)
'''
C['try: finally may drop an error']='''
def f():
    try: div(1,0)
    finally:
        if s: return 1
try: send(f())
except ZeroDivisionError: send(2)
send(3)
'''
C['try: a continue in a finally, for a break']='''
for t in [1,2]:
    try: break
    finally:
        if s: continue
send(t)
'''
C['try: a continue in a finally, for a return']='''
def f():
    for t in [1,2]:
        try: div(1,0)
        except Exception: return 1
        finally:
            if s: continue
    return 3
send(f())
'''
if __name__=='__main__':
    for name,src in C.items():
        for rn,rules in (('literal',Rules(**LITERAL)),('replaced',Rules())):
            if 'attempt(fn)' in name and rn=='replaced': continue
            ts=parse(src,rules)
            m1=run(ts,S(0),rules); ts=parse(src,rules); m2=run(ts,S(1),rules)
            print('%-45s %-9s %s'%(name,rn,compare(m1,m2,0) or 'ok (floor %d/%d, errs %s/%s)'%(m1.floor,m2.floor,m1.errs,m2.errs)))
