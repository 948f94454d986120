import random, sys, time
from mini import *
class G:
    def __init__(g,rng,attempt_fn=False): g.r=rng; g.fn=0; g.depth=0; g.infn=False; g.inloop=False; g.af=attempt_fn; g.caps=[]; g.tries=True
    def c(g,*xs): return g.r.choice(xs)
    def ivar(g): return g.c('i0','i1','i2') if not g.infn else g.c('i0','i1','a','j0','j1')
    def lvar(g): return g.c('l0','l1','l2') if not g.infn else g.c('l0','l1','x','x','k0')
    def dvar(g): return g.c('d0','d1') if not g.infn else g.c('d0','d1','m')
    def I(g,d=0):
        r=g.r.random()
        if d>2 or r<.16: return str(g.r.randint(0,3))
        if r<.34: return g.ivar()
        if r<.50: return g.c('s1','s1','s2','s3')
        if r<.56: return '(%s %s %s)'%(g.I(d+1),g.c('+','-','*'),g.I(d+1))
        if r<.60: return 'len(%s)'%g.L(d+1)
        if r<.66: return 'at(%s, %s)'%(g.L(d+1),g.I(d+1))
        if r<.71: return '%s.get(%s, %s)'%(g.dvar(),g.I(d+1),g.I(d+1))
        if r<.76: return '(%s if %s else %s)'%(g.I(d+1),g.B(d+1),g.I(d+1))
        if r<.80: return '%s.pop()'%g.Lref(d+1)
        if r<.83: return '%s.pop(%s)'%(g.dvar(),g.I(d+1))
        if r<.86: return 'sum(%s)'%g.L(d+1)
        if r<.88: return 'len(%s)'%g.dvar()
        if r<.90: return 'quota()'
        if r<.92: return 'at(attempt(div, %s, %s), %d)'%(g.I(d+1),g.I(d+1),g.r.randint(0,1))
        if r<.97: return g.callf(d)
        return '%s[%s]'%(g.lvar(),g.I(d+1))
    def callf(g,d):
        f=g.c('f0','f1','f2','g0') if not g.infn else g.c('f0','f1','h')
        if g.r.random()<.12: return 'k1(**dk)' 
        return '%s(%s, %s, %s)'%(f,g.I(d+1),g.Lref(d+1),g.dvar())
    def B(g,d=0):
        r=g.r.random()
        if r<.4: return '%s %s %s'%(g.I(d+1),g.c('<','>','==','!='),g.I(d+1))
        if r<.55: return g.c('s1','s2','s3','s1 > 1')
        if r<.63: return '%s in %s'%(g.I(d+1),g.c(g.lvar(),g.dvar()))
        if r<.70: return 'not %s'%g.I(d+1)
        if r<.78 and d<2: return '(%s %s %s)'%(g.B(d+1),g.c('and','or'),g.B(d+1))
        if r<.84: return g.lvar()
        if r<.88: return 'quota()'
        return g.I(d+1)
    def Lref(g,d=0):
        r=g.r.random()
        if d>2 or r<.7: return g.lvar()
        if r<.8: return '(%s if %s else %s)'%(g.lvar(),g.B(d+1),g.lvar())
        if r<.9: return 'dl.setdefault(%s, %s)'%(g.I(d+1),g.c('[]',g.lvar()))
        return '(%s %s %s)'%(g.lvar(),g.c('and','or'),g.lvar())
    def L(g,d=0):
        r=g.r.random()
        if d>2 or r<.45: return g.Lref(d)
        if r<.55: return '[%s]'%', '.join(g.I(d+1) for _ in range(g.r.randint(0,3)))
        if r<.68: return '[%s for z in %s if %s]'%(g.c('z',g.I(d+1)),g.L(d+1),g.c('z',g.B(d+1)))
        if r<.74: return 'sorted(%s)'%g.L(d+1)
        if r<.80: return 'list(%s)'%g.c(g.lvar(),g.dvar())
        if r<.88: return g.c('hl','ml')
        if r<.94: return 'range(%s)'%g.I(d+1)
        return '%s.values()'%g.dvar()
    def S(g,ind,d=0):
        p='  '*ind; r=g.r.random()
        if r<.13: return [p+'%s = %s'%(g.ivar() if not g.infn else g.c('j0','j1','a'),g.I())]
        if r<.15: return [p+'%s = %s'%(g.c('u0','u1') if not g.infn else 'j2',g.I())]
        if r<.16: return [p+'send(%s)'%(g.c('u0','u1') if not g.infn else 'j2')]
        if r<.22: return [p+'%s += %s'%(g.c('i0','i1','i2') if not g.infn else g.c('j0','a'),g.I())]
        if r<.30: return [p+'%s = %s'%(g.c('l0','l1','l2') if not g.infn else g.c('k0','x'),g.L())]
        if r<.40: return [p+'%s.append(%s)'%(g.Lref(),g.I())]
        if r<.43: return [p+'%s += %s'%(g.c('l0','l1') if not g.infn else g.c('x','k0'),g.L())]
        if r<.47: return [p+'%s[%s] = %s'%(g.dvar(),g.I(),g.I())]
        if r<.50: return [p+'%s.insert(%s, %s)'%(g.Lref(),g.I(),g.I())]
        if r<.52: return [p+g.c('%s.clear()'%g.Lref(),'%s[0] = %s'%(g.lvar(),g.I()),'dl[%s] = %s'%(g.I(),g.lvar()),'dk[%s] = %s'%('("p" if %s else "q")'%g.B(),g.I()))]
        if r<.60: return [p+'send(%s)'%g.c(g.I(),g.lvar(),g.L())]
        if r<.64: return [p+g.c(g.I(),'(%s and %s)'%(g.B(),g.callf(1)),'(%s or %s.append(%s))'%(g.B(),g.lvar(),g.I()),'[%s.append(%s) for z in %s if %s]'%(g.lvar(),g.I(),g.L(),g.B()))]
        if r<.66 and not g.infn: return [p+'g0 = %s if %s else %s'%(g.c('f0','f1'),g.B(),g.c('f1','f2'))]
        if r<.68 and g.infn: return [p+'x, k0 = %s, %s'%(g.lvar(),g.lvar())] if False else [p+'k0 = x']
        if g.infn and r<.73: return [p+'return %s'%g.I()]
        if g.inloop and r<.78: return [p+g.c('break','continue')]
        if g.r.random()<.06:
            t=g.c(
              ['n0=0','for z0 in ml:','  if %s: '%g.B()+g.c('break','continue'),'  n0+=1','send(n0)'],
              ['n0=0','for z0 in [1,2]:','  n0=z0','  if %s: continue'%g.B(),'  '+g.c('break','pass','send(n0)'),'send(n0)'],
              ['q0=[0,1,at(ml,1),1]','while q0.pop():','  send(len(q0))'],
              ['q0=[0,at(ml,0),1]','n0=0','while q0.pop():','  n0+=1','send(n0)'],
              ['dk.clear()','dk["p" if %s else "q"] = 9'%g.B(),'send(k1(**dk))'],
              ['for z0 in [0,1]:','  if %s: break'%g.B(),'  '+('return 1' if g.infn else 'pass'),'send(%s)'%g.ivar()])
            return [p+x for x in t]
        if d>2: return [p+'pass']
        if g.tries and g.r.random()<.5: return g.T(ind,d)
        if r<.90:
            out=[p+'if %s:'%g.B()]+g.blk(ind+1,d+1,1,3)
            if g.r.random()<.4: out+=[p+'else:']+g.blk(ind+1,d+1,1,2)
            return out
        o=g.inloop; g.inloop=True
        if r<.97:
            out=[p+'for %s in %s:'%(g.c('i0','i2') if not g.infn else g.c('j0','a'),g.L())]+g.blk(ind+1,d+1,1,3)
        else:
            out=[p+'while %s:'%g.c('%s.pop()'%g.lvar(),'len(%s) > %s'%(g.lvar(),g.I(2)))]+g.blk(ind+1,d+1,1,3)+['  '*(ind+1)+'%s.pop()'%g.lvar()]
        g.inloop=o; return out
    def T(g,ind,d):
        p='  '*ind
        out=[p+'try:']+g.tb(ind+1,d+1)
        hs=g.c(['Exception'],['Exception'],[''],['ZeroDivisionError'],['ZeroDivisionError','Exception'],['ValueError',''],['TypeError'],[])
        fin=not hs or g.r.random()<.3
        for h in hs:
            out+=[p+'except %s:'%(h+' as '+g.c('e0','i0') if h and g.r.random()<.3 else h)]
            out+=g.c([p+'  pass'],g.blk(ind+1,d+1,1,2),g.blk(ind+1,d+1,1,2),[p+'  raise'],[p+'  send(1)'])
        if hs and g.r.random()<.3: out+=[p+'else:']+g.blk(ind+1,d+1,1,2)
        if fin: out+=[p+'finally:']+g.blk(ind+1,d+1,1,2)
        return out+g.c([],[p+'send(%s)'%g.ivar()])
    def tb(g,ind,d):
        p='  '*ind
        out=g.c([],g.blk(ind,d,1,1))
        out+=[p+g.c('div(1, %s)'%g.I(),'%s = 6 // %s'%(g.ivar(),g.I()),'%s = %s[%s]'%(g.ivar(),g.lvar(),g.I()),'if %s: raise ValueError'%g.B(),'raise ValueError',g.callf(1),'send(1)','%s.append(%s)'%(g.Lref(),g.I()),'fail()')]
        return out+g.c([],g.blk(ind,d,1,2))
    def blk(g,ind,d,a,b):
        out=[]
        for _ in range(g.r.randint(a,b)): out+=g.S(ind,d)
        return out
    def prog(g):
        out=['i0=0','i1=1','i2=2','l0=[1,2]','l1=[]','l2=l0','d0={0:1}','d1={}','dl={}','dk={}']
        for f in ('f0','f1','f2'):
            out.append('def %s(a, x, m):'%f)
            g.infn=True
            out+=['  j0=0','  j1=1','  k0=[]']
            if g.r.random()<.6:
                out+=['  def h(a, x, m):']
                save=g.inloop; g.inloop=False
                # nested: captures k0/j0 of outer
                out+=['    k0.append(a)' if g.r.random()<.5 else '    pass','    if a > 1: return j0','    x.append(1)','    return len(k0)']
                g.inloop=save
            else: out+=['  h=f0']
            o=g.inloop; g.inloop=False
            out+=g.blk(1,1,1,4)+['  return %s'%g.I()]
            g.inloop=o
            g.infn=False
        out+=['def k1(p=1, q=2): return p']
        out+=['g0=f0']
        for _ in range(g.r.randint(2,7)): out+=g.S(0)
        for t in range(g.r.randint(0,2)):
            out.append('---')
            for _ in range(g.r.randint(1,4)): out+=g.S(0)
        out+=['---','send(i0)','send(i1)','send(l0)','send(len(l1))','send(l2)','send(d0)','send(len(d1))']
        return '\n'.join(out)
def inputs(r,lv):
    s1,s2,s3,hl,ml=lv
    return {'s1':(s1,0,1),'s2':(s2,0,2),'s3':(s3,0,3),'hl':([(x,0) for x in hl],1,0),'ml':([(x,l) for x,l in ml],0,0)}
def vary(r,o,base):
    s1,s2,s3,hl,ml=base
    n=lambda:r.randint(0,3)
    if 1&~o: s1=n(); hl=[n() for _ in range(r.randint(0,3))]
    if 2&~o: s2=n()
    if 3&~o: s3=n()
    ml=[((n() if l&~o else x),l) for x,l in ml]
    return (s1,s2,s3,hl,ml)
def one(seed,rules,af=False):
    r=random.Random(seed); src=G(r,af).prog()
    n=lambda:r.randint(0,3)
    base=(n(),n(),n(),[n() for _ in range(r.randint(0,3))],[(n(),r.choice([0,1,2])) for _ in range(3)])
    bad=[];st=[]
    try: ts=parse(src,rules)
    except SyntaxError: return None
    m1=run(ts,inputs(r,base),rules)
    for o in (0,1,2):
        v=vary(r,o,base)
        m2=run(ts,inputs(r,v),rules)
        x=compare(m1,m2,o)
        st.append((dead(m1,o),dead(m2,o),len(m1.trace)))
        if x: bad.append((o,x,base,v))
    return src,bad,st
def campaign(name,rules,n,seed0=0,stop=True,verbose=False):
    t=time.time(); alive=pairs=skipped=0
    for k in range(n):
        r=one(seed0+k,rules)
        if r is None: skipped+=1; continue
        src,bad,st=r; pairs+=3; alive+=sum(1 for a,b,c in st if not a and not b)
        if bad:
            print('%-22s FOUND after %d pairs (%.0fs): o=%d %s'%(name,pairs,time.time()-t,bad[0][0],bad[0][1]))
            if verbose: print(src); print(bad[0])
            if stop: return k
    print('%-22s none in %d pairs, %d both alive (%.0fs; skipped %d)'%(name,pairs,alive,time.time()-t,skipped))
if __name__=='__main__':
    campaign('replaced',Rules(),int(sys.argv[1]) if len(sys.argv)>1 else 2000,verbose=True)
