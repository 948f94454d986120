"""A model of the labelled evaluator: a Starlark subset over Python's ast.
Labels are bit masks {0,1,2,3} (a diamond); join is |; a flows to b iff a & ~b == 0.
Every rule is a switch, so that flow.md's literal reading and the replacement wording can both be run."""
import ast, sys, copy

PURE = {'len','sorted','list','dict','range','at','quota','attempt','div','sum','str'}
MUT = {'append','pop','insert','clear','setdefault','update','extend','remove'}
MAXSTEPS = 4000

class Rules:
    # replacement rules, all on
    write_check=True      # write whose pc|ref does not flow to structure raises the session floor
    skip_region=True      # early exit announces what it may skip
    announce_names=True
    announce_conts=True
    cond_operands=True    # and/or/if-else/comprehension operands are arms too
    ref_label=True        # len(c), c[i] join the reference's label
    order=True            # c[i] always joins the structure
    idx_write=True        # a write at a labelled index joins it to the structure
    while_acc=True        # a while's pc accumulates
    comp_st=True          # comprehension filters join the result's structure
    star_args=True        # f(*xs, **d): every parameter carries the structure
    err_operands=True     # an error (and an attempt that did not err) carries operands
    err_floor=True        # uncaught error raises the session floor
    select=True           # value of a conditional expression carries the condition
    unbound=True          # unbound slots have a label
    hist=True             # history label
    names_read_pc=True
    pc4_frame=False       # literal pc.4: rest of *this* function
    literal_join=False    # pc.3 literal: raise at the join point, only what the arm not taken would do
    limit_floor=True
    fresh_arg=True
    floor_st=True
    callee_summ=True
    trans_exit=True       # exits that are themselves skipped count
    ann_guard=True        # an announcement is itself a write
    exit_pc=True
    # try: a check in a body raises the label of the try before it is known how it ends
    try_check=True        # a check that can fail on data labelled l joins l to the try: to its pc, to every name bound in it
    try_risk=True         # a branch that decides whether there are checks is one
    try_guard=True        # ... but only where the pc already flows to the try: a raise is itself a write
    try_floor=True        # an error that the try's label does not cover raises the floor where it is caught
    try_cells=True        # the frames between the check and the try: variables that closures share
    try_outer=True        # a try that may let errors pass, or whose handlers may fail, raises those around it
    try_names=True
    try_begun=True        # what leaves a finally skips the exits that wait for its end
    try_continue=True     # a continue in a try counts as a break: what runs on the way to the next iteration may fail
    try_else=True         # handlers and else run under the try's label
    def __init__(s, **k):
        for a,b in k.items():
            assert hasattr(Rules,a),a
            setattr(s,a,b)

LITERAL = dict(write_check=False, skip_region=False, cond_operands=False, idx_write=False, comp_st=False, star_args=False,
   err_operands=False, err_floor=False, unbound=False, hist=False, pc4_frame=True, literal_join=True, while_acc=False, limit_floor=False, trans_exit=False)

class Lst:
    __slots__=('items','st')
    def __init__(s,items,st): s.items=items; s.st=st
class Dct:
    __slots__=('items','st')
    def __init__(s,items,st): s.items=items; s.st=st
class Func:
    __slots__=('node','frame','name')
    def __init__(s,node,frame,name): s.node=node; s.frame=frame; s.name=name
class UnboundT: pass
UNB=UnboundT()
class Err(Exception):
    def __init__(s,lab,msg=''): s.lab=lab; s.msg=msg
class Try:
    __slots__=('f','pc','node','lab','depth')
    def __init__(s,f,pc,node,depth): s.f=f; s.pc=pc; s.node=node; s.lab=0; s.depth=depth
class Limit(Exception): pass

class Frame:
    __slots__=('vars','parent','entry','fn','loops','locals')
    def __init__(s,parent,entry,locals_):
        s.vars={}; s.parent=parent; s.entry=entry; s.fn=0; s.loops=[]; s.locals=locals_

# ---------- static summaries ----------
def walk_nodefs(n):
    yield n
    if isinstance(n,(ast.FunctionDef,ast.Lambda)): return
    for c in ast.iter_child_nodes(n): yield from walk_nodefs(c)

class Summ:
    __slots__=('names','conts','calls','ret','brk','cont','exprrecv','callnodes','risk')
def summarize(nodes):
    s=Summ(); s.names=set(); s.conts=set(); s.calls=False; s.ret=False; s.brk=False; s.cont=False; s.exprrecv=False; s.callnodes=[]; s.risk=False
    def tgt(t):
        if isinstance(t,ast.Name): s.names.add(t.id)
        elif isinstance(t,(ast.Tuple,ast.List)):
            for e in t.elts: tgt(e)
        elif isinstance(t,ast.Subscript):
            if isinstance(t.value,ast.Name): s.conts.add(t.value.id)
            else: s.exprrecv=True
    def go(n,inloop):
        if isinstance(n,(ast.BinOp,ast.UnaryOp,ast.Compare,ast.Subscript,ast.Call,ast.For,ast.ListComp,ast.Raise,ast.AugAssign,ast.Tuple,ast.Dict)): s.risk=True
        if isinstance(n,ast.ExceptHandler) and n.name: s.names.add(n.name)
        if isinstance(n,ast.FunctionDef): s.names.add(n.name); 
        if isinstance(n,(ast.FunctionDef,ast.Lambda)):
            return
        if isinstance(n,ast.Assign):
            for t in n.targets: tgt(t)
        elif isinstance(n,ast.AugAssign):
            tgt(n.target)
            if isinstance(n.target,ast.Name): s.conts.add(n.target.id)
        elif isinstance(n,ast.For): tgt(n.target)
        elif isinstance(n,ast.Return): s.ret=True
        elif isinstance(n,ast.Break) and not inloop: s.brk=True
        elif isinstance(n,ast.Continue) and not inloop: s.cont=True
        elif isinstance(n,ast.Call):
            f=n.func
            if isinstance(f,ast.Attribute):
                if f.attr in MUT:
                    if isinstance(f.value,ast.Name): s.conts.add(f.value.id)
                    else: s.exprrecv=True
            elif not(isinstance(f,ast.Name) and f.id in PURE): s.calls=True; s.callnodes.append(n)
        inl=inloop or isinstance(n,(ast.For,ast.While))
        for c in ast.iter_child_nodes(n): go(c,inl)
    for n in nodes: go(n,False)
    return s

def annotate(tree,rules):
    """parents, and per branch: summary of arms and of the skip regions"""
    def link(n,parent):
        n.parent=parent
        for c in ast.iter_child_nodes(n): link(c,n)
    link(tree,None)
    for n in ast.walk(tree):
        if isinstance(n,ast.If):
            n.s_arms=summarize(n.body+n.orelse); n.s_body=summarize(n.body); n.s_else=summarize(n.orelse)
        elif isinstance(n,ast.For): n.s_arms=summarize([n]) 
        elif isinstance(n,ast.While): n.s_arms=summarize([n])
        elif isinstance(n,(ast.IfExp,)): n.s_arms=summarize([n.body,n.orelse])
        elif isinstance(n,ast.BoolOp): n.s_arms=summarize(n.values[1:])
        elif isinstance(n,ast.ListComp):
            n.s_arms=summarize([n.elt]+[i for g in n.generators for i in g.ifs]+[g.iter for g in n.generators[1:]])
        elif isinstance(n,ast.Try):
            n.s_arms=summarize(n.body+n.orelse+[x for h in n.handlers for x in h.body]+[h for h in n.handlers])
            n.s_after=summarize(n.orelse+[x for h in n.handlers for x in h.body])
            n.all=any(h.type is None or h.type.id=='Exception' for h in n.handlers)
        if isinstance(n,(ast.If,ast.For,ast.While,ast.Try)):
            loops=[]; p=n.parent
            while p is not None and not isinstance(p,ast.FunctionDef):
                if isinstance(p,(ast.For,ast.While)): loops.append(p)
                p=p.parent
            scope=p if p is not None else tree
            after=lambda root: [m for m in _stmts(root) if m.lineno>n.end_lineno]
            a=n.s_arms
            isloop=isinstance(n,(ast.For,ast.While))
            reg=[]
            ret,brk,cont=a.ret,(not isloop and a.brk),(not isloop and a.cont)
            n.l_ret,n.l_brk,n.l_cont=ret,brk,cont
            # of the tries up to the innermost loop: in the finally of which this stands, and in which it stands otherwise
            c=n; begun=[]; tried=False
            while c.parent is not None and not isinstance(c.parent,(ast.FunctionDef,ast.For,ast.While)):
                p=c.parent
                if isinstance(p,ast.Try):
                    if c in p.finalbody: begun.append(summarize(p.body+p.orelse+p.handlers))
                    else: tried=True
                c=p
            if rules.try_begun and (ret or brk or cont):
                for q in begun: ret,brk,cont=ret or q.ret,brk or q.brk,cont or q.cont
            if rules.try_continue and cont and tried: brk=True
            if cont and loops:
                z=summarize(after(loops[0])); zz=summarize([])
                # exits among the skipped statements, at this loop's level
                for st in after_top(n,loops[0]):
                    q=summarize([st]) if not isinstance(st,(ast.For,ast.While)) else None
                    if q is None:
                        q=summarize([st]); q.brk=q.cont=False
                    brk=brk or q.brk; ret=ret or q.ret
                reg+=after(loops[0])
            if brk and loops:
                if summarize(loops[0].body).ret: ret=True
                reg.append(loops[0])
            if ret:
                if loops: reg.append(loops[-1])
                reg+=after(scope)
            n.x_ret,n.x_brk,n.x_cont=ret,brk,cont
            n.s_skip=summarize(reg)
def after_top(n,loop):
    """statements after n inside loop, outermost ones, along the path from n up to loop"""
    out=[]; c=n
    while c is not loop:
        p=c.parent
        for field in ('body','orelse','finalbody'):
            b=getattr(p,field,None)
            if isinstance(b,list) and c in b:
                out+=b[b.index(c)+1:]
                if isinstance(p,ast.Try) and field=='body': out+=p.orelse
        c=p
    return out
def _stmts(root):
    out=[]
    def go(n):
        for c in ast.iter_child_nodes(n):
            if isinstance(c,ast.stmt):
                out.append(c)
                if not isinstance(c,ast.FunctionDef): go(c)
            elif not isinstance(c,ast.expr): go(c)
    go(root); return out

def n_contained(n): return n.all and not n.s_after.risk and not n.s_skip.risk
class Machine:
    def __init__(m,rules):
        m.r=rules; m.floor=0; m.trace=[]; m.nc=0; m.hist=0; m.steps=0; m.errs=[]
        m.g=Frame(None,0,None); m.met=0; m.stream=[]; m.floor_why=[]; m.tries=[]; m.stack=[]; m.caught=[]
    # ----- pc -----
    def eff(m,f,pc):
        l=m.floor|f.entry|f.fn|pc
        for a in f.loops: l|=a[0]|a[1]
        for t in m.tries: l|=t.lab
        return l
    # ----- try -----
    def check(m,f,pc,lab):
        """called before a check that reads data labelled lab"""
        if not m.tries or not m.r.try_check: return
        now=m.eff(f,pc); full=now|lab
        for k in range(len(m.tries)-1,-1,-1):
            t=m.tries[k]
            have=m.eff(t.f,t.pc)     # of the tries around and of this one
            if m.r.try_guard and now & ~have: return
            if not full & ~have: return
            t.lab|=full
            if m.r.try_names:
                # in the pc from here on; names and containers of the region
                m.announce(t.f,t.pc,t.node.s_arms,full)
                m.announce(t.f,t.pc,t.node.s_skip,full)
                n=t.node
                if n.x_ret: t.f.fn|=full
                if n.x_brk and t.f.loops: t.f.loops[-1][0]|=full
                if n.x_cont and t.f.loops: t.f.loops[-1][1]|=full
            if m.r.try_cells:
                for fr in m.stack[t.depth:]:
                    for n in fr.locals or ():
                        v=fr.vars.get(n,(UNB,0)); fr.vars[n]=(v[0],v[1]|full)
            if not m.r.try_outer or (n_contained(t.node)): return
    def risk(m,f,pc,summs,full):
        if m.r.try_risk and m.tries and any(s.risk for s in summs): m.check(f,pc,full)
    def step(m):
        m.steps+=1
        if m.steps>MAXSTEPS: raise Limit()
    # ----- names -----
    def find(m,f,name):
        while f is not None:
            if f.locals is None or name in f.locals: return f
            f=f.parent
        return m.g
    def read(m,f,pc,name):
        fr=m.find(f,name)
        v=fr.vars.get(name,(UNB,0))
        e=m.eff(f,pc)
        if v[0] is UNB:
            if name in ('send','len','sorted','list','dict','range','at','quota','attempt','attempt_fn','div','sum','str','fail','recv'): return (name,0)
            raise Err((v[1]|e) if m.r.err_operands else e,'unbound '+name)
        return (v[0], v[1]|(e if m.r.names_read_pc else 0))
    def bind(m,f,pc,name,v):
        fr=m.find(f,name)
        fr.vars[name]=(v[0],v[1]|m.eff(f,pc))
    # ----- announce -----
    def announce(m,f,pc,summ,lab,names=True):
        if not lab: return
        if names and m.r.announce_names:
            for n in summ.names:
                fr=m.find(f,n); v=fr.vars.get(n,(UNB,0))
                if v[0] is UNB and not m.r.unbound: continue
                fr.vars[n]=(v[0],v[1]|lab)
        if m.r.announce_conts:
            for n in summ.conts:
                fr=m.find(f,n); v=fr.vars.get(n)
                if v is not None and isinstance(v[0],(Lst,Dct)):
                    # an announcement is itself a write: the pc here, and the reference's label, must flow to the structure
                    if m.r.ann_guard and ((m.eff(f,pc)|v[1]) & ~v[0].st): continue
                    v[0].st|=lab
        if summ.calls and m.r.hist: m.hist|=lab
        if m.r.callee_summ and m.r.announce_conts:
            for c in summ.callnodes: m.ann_call(f,pc,f,c,lab,2)
    def ann_obj(m,f,pc,fr,name,lab,via):
        fr=m.find(fr,name); v=fr.vars.get(name)
        if v is not None and isinstance(v[0],(Lst,Dct)):
            if (m.eff(f,pc)|v[1]|via) & ~v[0].st: return
            v[0].st|=lab
    def ann_call(m,f,pc,scope,c,lab,depth,via=0):
        if not isinstance(c.func,ast.Name): return
        fr=m.find(scope,c.func.id); v=fr.vars.get(c.func.id)
        if v is None or not isinstance(v[0],Func): return
        node=v[0].node; via=via|v[1]
        if not hasattr(node,'bsum'): node.bsum=summarize(node.body)
        params=[a.arg for a in node.args.args]
        loc=node.bsum.names|set(params)
        for n in node.bsum.conts:
            if n in params:
                j=params.index(n)
                if j<len(c.args) and isinstance(c.args[j],ast.Name) and scope is f: m.ann_obj(f,pc,f,c.args[j].id,lab,via)
            elif n not in loc: m.ann_obj(f,pc,v[0].frame,n,lab,via)
        if depth:
            for cc in node.bsum.callnodes:
                if isinstance(cc.func,ast.Name) and cc.func.id not in loc: m.ann_call(f,pc,v[0].frame,cc,lab,depth-1,via)
    def branch(m,f,pc,node,lab):
        """called at entry of a branch whose condition has label lab, in every run"""
        full=lab|m.eff(f,pc)
        if not m.r.literal_join:
            m.announce(f,pc,node.s_arms,full)
            if m.r.skip_region: m.announce(f,pc,node.s_skip,full)
        else:
            if m.r.skip_region: m.announce(f,pc,node.s_skip,full)
        a=node.s_arms
        if m.r.exit_pc:
            R,B,C=(node.x_ret,node.x_brk,node.x_cont) if m.r.trans_exit else (node.l_ret,node.l_brk,node.l_cont)
            if R: f.fn|=full
            if B and f.loops: f.loops[-1][0]|=full
            if C and f.loops: f.loops[-1][1]|=full
        m.risk(f,pc,[node.s_arms,node.s_skip],full)
    def join_literal(m,f,pc,node,untaken,lab):
        if not m.r.literal_join: return
        full=lab|m.eff(f,pc)
        m.announce(f,pc,node.s_arms,full) if False else None
        # names in any arm
        for n in node.s_arms.names:
            fr=m.find(f,n); v=fr.vars.get(n,(UNB,0))
            if v[0] is UNB and not m.r.unbound: continue
            fr.vars[n]=(v[0],v[1]|full)
        for u in untaken:
            for n in u.conts:
                fr=m.find(f,n); v=fr.vars.get(n)
                if v is not None and isinstance(v[0],(Lst,Dct)): v[0].st|=full
            if m.r.pc4_frame and (u.calls or u.exprrecv): f.fn|=full
    # ----- heap -----
    def write(m,o,ref,f,pc,idx=0):
        w=m.eff(f,pc)|(ref if m.r.ref_label else 0)
        if m.r.write_check and (w & ~o.st):
            if w&~m.floor: m.floor_why.append((w,'write'))
            m.floor|=w|(o.st if m.r.floor_st else 0)
        o.st|=w
        if m.r.idx_write: o.st|=idx
        return w|m.floor
    # ----- statements -----
    def block(m,f,pc,stmts):
        for s in stmts:
            sig=m.stmt(f,pc,s)
            if sig is not None: return sig
        return None
    def assign(m,f,pc,t,v):
        if isinstance(t,ast.Name): m.bind(f,pc,t.id,v)
        elif isinstance(t,ast.Subscript):
            o=m.ev(f,pc,t.value); i=m.ev(f,pc,t.slice); m.setitem(f,pc,o,i,v)
        elif isinstance(t,(ast.Tuple,ast.List)):
            o=v[0]; m.check(f,pc,v[1]); e=m.eff(f,pc)
            if isinstance(o,Lst):
                lab=v[1]|o.st; m.check(f,pc,lab); e=m.eff(f,pc)
                if len(o.items)!=len(t.elts): raise Err(lab|e if m.r.err_operands else e)
                its=list(o.items)
                for x,it in zip(t.elts,its): m.assign(f,pc,x,(it[0],it[1]|lab))
            else: raise Err(v[1]|e if m.r.err_operands else e)
    def setitem(m,f,pc,o,i,v):
        c=o[0]; m.check(f,pc,m.ref(o)|i[1]); e=m.eff(f,pc)
        if isinstance(c,Lst):
            if not isinstance(i[0],int) or not -len(c.items)<=i[0]<len(c.items): raise Err((o[1]|i[1]|c.st|e) if m.r.err_operands else e)
            w=m.write(c,o[1],f,pc,i[1])
            c.items[i[0]]=(v[0],v[1]|w|i[1])
        elif isinstance(c,Dct):
            if isinstance(i[0],(Lst,Dct)): raise Err((i[1]|e) if m.r.err_operands else e)
            w=m.write(c,o[1],f,pc,i[1])
            c.items[i[0]]=(v[0],v[1]|w|i[1])
        else: raise Err((o[1]|e) if m.r.err_operands else e)
    def stmt(m,f,pc,s):
        m.step()
        k=type(s)
        if k is ast.Expr: m.ev(f,pc,s.value); return None
        if k is ast.Assign:
            v=m.ev(f,pc,s.value)
            for t in s.targets: m.assign(f,pc,t,v)
            return None
        if k is ast.AugAssign:
            if isinstance(s.target,ast.Name):
                a=m.read(f,pc,s.target.id); b=m.ev(f,pc,s.value)
                if isinstance(a[0],Lst) and isinstance(b[0],Lst):
                    m.extend(f,pc,a,b); m.bind(f,pc,s.target.id,a)
                else: m.bind(f,pc,s.target.id,m.binop(f,pc,s.op,a,b))
            else:
                o=m.ev(f,pc,s.target.value); i=m.ev(f,pc,s.target.slice); b=m.ev(f,pc,s.value)
                a=m.getitem(f,pc,o,i); m.setitem(f,pc,o,i,m.binop(f,pc,s.op,a,b))
            return None
        if k is ast.If:
            c=m.ev(f,pc,s.test); t,lab=m.truth(c)
            m.branch(f,pc,s,lab)
            sig=m.block(f,pc|lab,s.body if t else s.orelse)
            m.join_literal(f,pc,s,[s.s_else if t else s.s_body],lab)
            return sig
        if k is ast.For:
            it=m.ev(f,pc,s.iter); m.check(f,pc,it[1])
            if isinstance(it[0],Lst): items=list(it[0].items); lab=it[1]|it[0].st
            elif isinstance(it[0],Dct): items=[(kk,0) for kk in it[0].items]; lab=it[1]|it[0].st
            else: raise Err(it[1]|m.eff(f,pc) if m.r.err_operands else m.eff(f,pc))
            m.branch(f,pc,s,lab)
            f.loops.append([lab,0]); sig=None
            ran=False
            try:
                for x in items:
                    ran=True
                    f.loops[-1][1]=0
                    m.step()
                    m.assign(f,pc,s.target,(x[0],x[1]|lab))
                    sig=m.block(f,pc,s.body)
                    if sig=='break': sig=None; break
                    if sig=='continue': sig=None; continue
                    if sig is not None: break
            finally:
                f.loops.pop()
            if not ran: m.join_literal(f,pc,s,[s.s_arms],lab)
            else: m.join_literal(f,pc,s,[],lab)
            return sig
        if k is ast.While:
            f.loops.append([0,0]); sig=None; lastlab=0; ran=False
            try:
                while True:
                    m.step()
                    f.loops[-1][1]=0
                    if not m.r.while_acc: f.loops[-1][0]=0
                    c=m.ev(f,pc,s.test); t,lab=m.truth(c); lastlab|=lab
                    # the loop's own pc first, then announce
                    m.branch(f,pc,s,lab)
                    if m.r.while_acc: f.loops[-1][0]|=lab
                    else: f.loops[-1][0]=lab
                    if not t: break
                    ran=True
                    sig=m.block(f,pc,s.body)
                    if sig=='break': sig=None; break
                    if sig=='continue': sig=None; continue
                    if sig is not None: break
            finally: f.loops.pop()
            m.join_literal(f,pc,s,[] if ran else [s.s_arms],lastlab)
            return sig
        if k is ast.Try: return m.try_(f,pc,s)
        if k is ast.Raise:
            if s.exc is None:
                if not m.caught: raise Err(m.eff(f,pc),'RuntimeError')
                raise Err(m.caught[-1].lab|m.eff(f,pc),m.caught[-1].msg)
            raise Err(m.eff(f,pc),'ValueError')
        if k is ast.FunctionDef:
            m.bind(f,pc,s.name,(Func(s,f,s.name),0)); return None
        if k is ast.Return:
            v=m.ev(f,pc,s.value) if s.value else (None,0)
            return ('return',(v[0],v[1]|m.eff(f,pc)))
        if k is ast.Break: return 'break'
        if k is ast.Continue: return 'continue'
        if k is ast.Pass: return None
        raise NotImplementedError(k)
    def catches(m,h,x):
        n=h.type and h.type.id
        if n in (None,'Exception'): return True
        if n=='ZeroDivisionError': return x.msg in ('div','mod')
        if n=='ValueError': return x.msg=='ValueError'
        return x.msg not in ('div','mod','ValueError')
    def try_(m,f,pc,s):
        t=Try(f,pc,s,len(m.stack)); k=len(m.tries); c=len(m.caught); err=None; sig=None
        if s.handlers: m.tries.append(t)
        try: sig=m.block(f,pc,s.body)
        except Err as x: err=x; del m.stack[t.depth:]; del m.caught[c:]
        finally: del m.tries[k:]
        def meet():
            # an error that goes on here as data, or as code that runs
            if m.r.try_floor and err.lab & ~(m.eff(f,pc)|t.lab): m.floor|=err.lab; m.floor_why.append((err.lab,'catch'))
        P=pc|(t.lab if m.r.try_else else 0)
        try:
            if err is not None:
                for h in s.handlers:
                    if not m.catches(h,err): continue
                    meet()
                    x=err; err=None
                    if h.name: m.bind(f,P,h.name,(len(x.msg),x.lab))
                    m.caught.append(x)
                    sig=m.block(f,P,h.body)
                    m.caught.pop()
                    if h.name: m.find(f,h.name).vars[h.name]=(UNB,m.eff(f,P))
                    break
            elif sig is None: sig=m.block(f,P,s.orelse)
        except Err as x: err=x; del m.stack[t.depth:]; del m.caught[c:]
        if s.finalbody:
            if err is not None: meet()
            out=m.block(f,pc,s.finalbody)
            if out is not None: return out
            if err is not None: err=Err(err.lab|m.eff(f,pc),err.msg)   # that finally did not end otherwise
        if err is not None: raise err
        return sig
    # ----- expressions -----
    def truth(m,v):
        x=v[0]
        if isinstance(x,Lst): return bool(x.items), v[1]|x.st
        if isinstance(x,Dct): return bool(x.items), v[1]|x.st
        if isinstance(x,Func): return True,v[1]
        return bool(x),v[1]
    def getitem(m,f,pc,o,i,default=None,total=False):
        c=o[0]
        if not total: m.check(f,pc,m.ref(o)|i[1])
        e=m.eff(f,pc); rl=o[1] if m.r.ref_label else 0
        if isinstance(c,Lst):
            if total:
                if not isinstance(i[0],int) or not c.items: return (0,rl|c.st|i[1]|e)
                x=c.items[i[0]%len(c.items)]; return (x[0],x[1]|rl|c.st|i[1]|e)
            if not isinstance(i[0],int) or not -len(c.items)<=i[0]<len(c.items): raise Err((o[1]|i[1]|c.st|e) if m.r.err_operands else e)
            x=c.items[i[0]]
            return (x[0],x[1]|rl|i[1]|e|(c.st if m.r.order else 0))
        if isinstance(c,Dct):
            if isinstance(i[0],(Lst,Dct)): raise Err((i[1]|e) if m.r.err_operands else e)
            if i[0] in c.items:
                x=c.items[i[0]]; return (x[0],x[1]|rl|i[1]|e|c.st)
            if total or default is not None:
                d=default or (0,0); return (d[0],d[1]|rl|c.st|i[1]|e)
            raise Err((o[1]|i[1]|c.st|e) if m.r.err_operands else e)
        raise Err((o[1]|e) if m.r.err_operands else e)
    def extend(m,f,pc,a,b):
        its=list(b[0].items); bl=b[1]|b[0].st
        w=m.write(a[0],a[1],f,pc,bl)
        if len(a[0].items)+len(its)>60: raise Limit()
        for x in its: a[0].items.append((x[0],x[1]|w|bl))
    def binop(m,f,pc,op,a,b):
        m.check(f,pc,a[1]|b[1])
        e=m.eff(f,pc); lab=a[1]|b[1]|e
        x,y=a[0],b[0]
        if not(isinstance(x,int) and isinstance(y,int)): raise Err(lab if m.r.err_operands else e,'binop')
        if isinstance(op,ast.Add): r=x+y
        elif isinstance(op,ast.Sub): r=x-y
        elif isinstance(op,ast.Mult): r=x*y
        elif isinstance(op,ast.Mod):
            if y==0: raise Err(lab if m.r.err_operands else e,'mod')
            r=x%y
        elif isinstance(op,ast.FloorDiv):
            if y==0: raise Err(lab if m.r.err_operands else e,'div')
            r=x//y
        else: raise NotImplementedError(op)
        if abs(r)>10**9: r%=1000
        return (r,lab)
    def deep(m,v,seen=None):
        seen=seen or set(); x=v[0]; l=v[1]
        if isinstance(x,(Lst,Dct)):
            if id(x) in seen: return l
            seen.add(id(x)); l|=x.st
            for it in (x.items if isinstance(x,Lst) else x.items.values()): l|=m.deep(it,seen)
        return l
    def ev(m,f,pc,e):
        m.step()
        k=type(e); E=m.eff(f,pc)
        if k is ast.Constant: return (e.value,E)
        if k is ast.Name: return m.read(f,pc,e.id)
        if k is ast.List:
            return (Lst([m.ev(f,pc,x) for x in e.elts],m.eff(f,pc)),m.eff(f,pc))
        if k is ast.Dict:
            d={}; st=E
            for kk,vv in zip(e.keys,e.values):
                a=m.ev(f,pc,kk); b=m.ev(f,pc,vv); m.check(f,pc,a[1]); st|=a[1]|m.eff(f,pc)
                if isinstance(a[0],(Lst,Dct)): raise Err(a[1]|E if m.r.err_operands else E)
                d[a[0]]=(b[0],b[1]|a[1])
            return (Dct(d,st),m.eff(f,pc))
        if k is ast.BinOp:
            a=m.ev(f,pc,e.left); b=m.ev(f,pc,e.right); return m.binop(f,pc,e.op,a,b)
        if k is ast.UnaryOp:
            a=m.ev(f,pc,e.operand)
            if isinstance(e.op,ast.Not):
                t,l=m.truth(a); return (not t,l|m.eff(f,pc))
            m.check(f,pc,a[1]); E=m.eff(f,pc)
            if not isinstance(a[0],int): raise Err(a[1]|E if m.r.err_operands else E)
            return (-a[0],a[1]|E)
        if k is ast.Compare:
            a=m.ev(f,pc,e.left); b=m.ev(f,pc,e.comparators[0]); op=e.ops[0]
            if isinstance(op,(ast.In,ast.NotIn)): m.check(f,pc,m.ref(a)|m.ref(b))
            elif not isinstance(op,(ast.Eq,ast.NotEq)): m.check(f,pc,a[1]|b[1])
            E=m.eff(f,pc)
            if isinstance(op,(ast.In,ast.NotIn)):
                c=b[0]; lab=a[1]|b[1]|E
                if isinstance(c,Lst):
                    lab|=c.st; r=False
                    for x in c.items:
                        lab|=x[1]
                        if isinstance(x[0],int) and isinstance(a[0],int) and x[0]==a[0]: r=True; break
                elif isinstance(c,Dct):
                    lab|=c.st; r=(not isinstance(a[0],(Lst,Dct))) and a[0] in c.items
                else: raise Err(lab if m.r.err_operands else E)
                return (r if isinstance(op,ast.In) else not r,lab)
            lab=a[1]|b[1]|E
            if isinstance(op,(ast.Eq,ast.NotEq)):
                if isinstance(a[0],int) and isinstance(b[0],int): r=a[0]==b[0]
                else: r=a[0] is b[0]; lab|=m.deep(a)|m.deep(b)
                return (r if isinstance(op,ast.Eq) else not r,lab)
            if not(isinstance(a[0],int) and isinstance(b[0],int)): raise Err(lab if m.r.err_operands else E)
            r={ast.Lt:a[0]<b[0],ast.Gt:a[0]>b[0],ast.LtE:a[0]<=b[0],ast.GtE:a[0]>=b[0]}[type(op)]
            return (r,lab)
        if k is ast.BoolOp:
            v=m.ev(f,pc,e.values[0])
            acc=0
            for nx in e.values[1:]:
                t,l=m.truth(v); acc|=l
                if m.r.cond_operands: m.announce(f,pc,e.s_arms,acc|m.eff(f,pc),names=False); m.risk(f,pc,[e.s_arms],acc|m.eff(f,pc))
                if t==isinstance(e.op,ast.Or): break
                v=m.ev(f,pc|acc,nx)
            return (v[0],v[1]|(acc if m.r.select else 0)|m.eff(f,pc))
        if k is ast.IfExp:
            t,l=m.truth(m.ev(f,pc,e.test))
            if m.r.cond_operands: m.announce(f,pc,e.s_arms,l|m.eff(f,pc),names=False); m.risk(f,pc,[e.s_arms],l|m.eff(f,pc))
            v=m.ev(f,pc|l,e.body if t else e.orelse)
            return (v[0],v[1]|(l if m.r.select else 0)|m.eff(f,pc))
        if k is ast.Subscript:
            return m.getitem(f,pc,m.ev(f,pc,e.value),m.ev(f,pc,e.slice))
        if k is ast.ListComp:
            g=e.generators[0]
            it=m.ev(f,pc,g.iter); m.check(f,pc,it[1])
            if isinstance(it[0],Lst): items=list(it[0].items); lab=it[1]|it[0].st
            elif isinstance(it[0],Dct): items=[(x,0) for x in it[0].items]; lab=it[1]|it[0].st
            else: raise Err(it[1]|E if m.r.err_operands else E)
            if m.r.cond_operands: m.announce(f,pc,e.s_arms,lab|m.eff(f,pc),names=False); m.risk(f,pc,[e.s_arms],lab|m.eff(f,pc))
            out=[]; st=lab|m.eff(f,pc)
            fr=Frame(f,0,{g.target.id}); fr.entry=m.eff(f,pc)|lab
            m.stack.append(fr)
            for x in items:
                m.step()
                fr.vars[g.target.id]=(x[0],x[1]|lab)
                ok=True; cl=0
                for c in g.ifs:
                    t,l=m.truth(m.ev(fr,cl,c))
                    if m.r.cond_operands: m.announce(fr,cl,e.s_arms,l|cl|m.eff(fr,0),names=False); m.risk(fr,cl,[e.s_arms],l|cl|m.eff(fr,0))
                    cl|=l
                    if m.r.comp_st: st|=l
                    if not t: ok=False; break
                if ok:
                    v=m.ev(fr,cl,e.elt); out.append((v[0],v[1]|cl|lab))
                    if not m.r.comp_st: st|=cl   # the element was appended under the filter's pc
            m.stack.pop()
            return (Lst(out,st|m.eff(f,pc)),m.eff(f,pc))
        if k is ast.Call: return m.call(f,pc,e)
        raise NotImplementedError(k)
    def call(m,f,pc,e):
        if isinstance(e.func,ast.Attribute):
            o=m.ev(f,pc,e.func.value)
            if m.r.fresh_arg and e.func.attr=='setdefault' and len(e.args)==2:
                k0=m.ev(f,pc,e.args[0]); pl=pc
                if isinstance(e.args[1],(ast.List,ast.Dict)): pl=pc|k0[1]|o[1]
                args=[k0,m.ev(f,pl,e.args[1])]
            else: args=[m.ev(f,pc,a) for a in e.args]
            return m.method(f,pc,o,e.func.attr,args)
        fn=m.ev(f,pc,e.func)
        args=[];kw={};starlab=0
        for a in e.args:
            if isinstance(a,ast.Starred):
                v=m.ev(f,pc,a.value); m.check(f,pc,m.ref(v))
                if not isinstance(v[0],Lst): raise Err(v[1]|m.eff(f,pc) if m.r.err_operands else m.eff(f,pc))
                if m.r.star_args: starlab|=v[1]|v[0].st
                args+= [(x[0],x[1]|v[1]|v[0].st) for x in v[0].items]
            else: args.append(m.ev(f,pc,a))
        for a in e.keywords:
            v=m.ev(f,pc,a.value); m.check(f,pc,m.ref(v))
            if a.arg is None:
                if not isinstance(v[0],Dct): raise Err(v[1]|m.eff(f,pc) if m.r.err_operands else m.eff(f,pc))
                if m.r.star_args: starlab|=v[1]|v[0].st
                for kk,x in v[0].items.items(): kw[kk]=(x[0],x[1]|v[1]|v[0].st)
            else: kw[a.arg]=v
        return m.apply(f,pc,fn,args,kw,starlab)
    def apply(m,f,pc,fn,args,kw=None,starlab=0):
        kw=kw or {}
        m.check(f,pc,fn[1]|starlab)
        E=m.eff(f,pc)
        F=fn[0]
        if isinstance(F,str): return m.builtin(f,pc|fn[1],F,args)
        if not isinstance(F,Func): raise Err(fn[1]|E if m.r.err_operands else E)
        depth=0; node=F.node
        params=[a.arg for a in node.args.args]; defs=node.args.defaults
        if not hasattr(node,'locs'):
            s=summarize(node.body); node.locs=frozenset(s.names|set(params))
        fr=Frame(F.frame,E|fn[1],node.locs)
        if m.r.hist: m.hist|=fn[1]
        vals={}
        for p,a in zip(params,args): vals[p]=a
        bad=len(args)>len(params)
        for kk,a in kw.items():
            if kk not in params or kk in vals: bad=True
            else: vals[kk]=a
        nd=len(params)-len(defs)
        for j,p in enumerate(params):
            if p not in vals:
                if j>=nd: vals[p]=m.ev(fr if False else F.frame,0,defs[j-nd])
                else: bad=True
        if bad: raise Err(E|fn[1]|starlab if m.r.err_operands else E)
        for p in params: fr.vars[p]=(vals[p][0],vals[p][1]|starlab)
        m.depth=getattr(m,'depth',0)+1
        if m.depth>40: m.depth-=1; raise Limit()
        m.stack.append(fr)
        try: sig=m.block(fr,0,node.body)
        finally: m.depth-=1; m.stack.pop()
        if isinstance(sig,tuple): return (sig[1][0],sig[1][1]|m.eff(fr,0))
        return (None,m.eff(fr,0))
    def tool(m,f,pc,x):
        E=m.eff(f,pc)
        if m.r.hist and m.r.write_check and (E & ~m.hist): m.floor|=E|m.hist
        m.nc+=1
        if m.r.hist: m.hist|=E
        E=m.eff(f,pc)
        m.trace.append((E,snap(x,set())))
        if m.nc>60: raise Limit()
    def ref(m,v): return v[1]|(v[0].st if isinstance(v[0],(Lst,Dct)) else 0)
    def builtin(m,f,pc,name,args):
        if m.tries and name not in ('send','recv','quota','at','attempt'):
            l=0
            for a in args: l|=m.deep(a) if name in ('sum','sorted') else m.ref(a)
            m.check(f,pc,l)
        E=m.eff(f,pc)
        if name=='send':
            m.tool(f,pc,args[0]); return (None,E)
        if name=='len':
            v=args[0]
            if isinstance(v[0],(Lst,Dct)): return (len(v[0].items),(v[1] if m.r.ref_label else 0)|v[0].st|E)
            raise Err(v[1]|E if m.r.err_operands else E)
        if name=='at': return m.getitem(f,pc,args[0],args[1],total=True)
        if name=='sum':
            v=args[0]
            if not isinstance(v[0],Lst): raise Err(v[1]|E if m.r.err_operands else E)
            l=m.deep(v)|E
            return (sum(x[0] for x in v[0].items if isinstance(x[0],int)),l)
        if name=='sorted':
            v=args[0]
            if not isinstance(v[0],Lst): raise Err(v[1]|E if m.r.err_operands else E)
            l=m.deep(v)|E
            return (Lst(sorted([x for x in v[0].items if isinstance(x[0],int)],key=lambda x:x[0]),l),E)
        if name=='list':
            v=args[0]
            if isinstance(v[0],Lst): return (Lst(list(v[0].items),v[1]|v[0].st|E),E)
            if isinstance(v[0],Dct): return (Lst([(k,0) for k in v[0].items],v[1]|v[0].st|E),E)
            raise Err(v[1]|E if m.r.err_operands else E)
        if name=='range':
            v=args[0]
            if not isinstance(v[0],int): raise Err(v[1]|E if m.r.err_operands else E)
            return (Lst([(i,0) for i in range(min(v[0],6))],v[1]|E),E)
        if name=='recv':      # a tool whose answers carry labels of their own
            m.tool(f,pc,(99,0)); m.rx=getattr(m,'rx',-1)+1
            x=m.stream[m.rx] if m.rx<len(m.stream) else (0,0)
            return (x[0],x[1]|m.eff(f,pc))
        if name=='quota':
            return (m.nc<3,(m.hist if m.r.hist else 0)|E)
        if name=='div': return m.binop(f,pc,ast.FloorDiv(),args[0],args[1])
        if name=='attempt':   # attempt(div, a, b): a builtin only
            lab=E
            for a in args: lab|=a[1]
            okl=lab if m.r.err_operands else E
            try:
                v=m.apply(f,pc,args[0],args[1:])
                return (Lst([(True,okl),v],E),E)
            except Err as x: return (Lst([(False,okl),(0,lab)],E),E)
        if name=='attempt_fn':  # flow.md's attempt(fn): any function
            try:
                v=m.apply(f,pc,args[0],args[1:]); return (Lst([(True,E),v],E),E)
            except Err as x: return (Lst([(False,E|x.lab),(0,x.lab|E)],E|x.lab),E|x.lab)
        if name=='fail': raise Err(E)
        raise Err(E,'nofunc '+name)
    def method(m,f,pc,o,name,args):
        l=m.ref(o)
        for a in args: l|=m.ref(a)
        m.check(f,pc,l)
        c=o[0]; E=m.eff(f,pc); rl=o[1] if m.r.ref_label else 0
        if isinstance(c,Lst):
            if name=='append':
                if len(c.items)>60: raise Limit()
                w=m.write(c,o[1],f,pc); c.items.append((args[0][0],args[0][1]|w)); return (None,E)
            if name=='pop':
                if not c.items:
                    if args: raise Err((o[1]|c.st|E) if m.r.err_operands else E)
                    m.write(c,o[1],f,pc); return (0,rl|c.st|E)  # total, for the generator's sake
                w=m.write(c,o[1],f,pc); x=c.items.pop(); return (x[0],x[1]|w|c.st)
            if name=='insert':
                if len(c.items)>60: raise Limit()
                w=m.write(c,o[1],f,pc,args[0][1])
                c.items.insert(args[0][0] if isinstance(args[0][0],int) else 0,(args[1][0],args[1][1]|w|args[0][1])); return (None,E)
            if name=='clear':
                m.write(c,o[1],f,pc); c.items.clear(); return (None,E)
            if name=='extend':
                if not isinstance(args[0][0],Lst): raise Err(E|args[0][1])
                m.extend(f,pc,o,args[0]); return (None,E)
        if isinstance(c,Dct):
            if name=='get': return m.getitem(f,pc,o,args[0],args[1] if len(args)>1 else (None,0),total=True)
            if name=='pop':
                k=args[0]
                if isinstance(k[0],(Lst,Dct)): raise Err(k[1]|E if m.r.err_operands else E)
                w=m.write(c,o[1],f,pc,k[1])
                x=c.items.pop(k[0],(0,0)); return (x[0],x[1]|w|k[1]|c.st)
            if name=='setdefault':
                k=args[0]
                if isinstance(k[0],(Lst,Dct)): raise Err(k[1]|E if m.r.err_operands else E)
                w=m.write(c,o[1],f,pc,k[1])
                if k[0] not in c.items: c.items[k[0]]=(args[1][0],args[1][1]|w|k[1])
                x=c.items[k[0]]; return (x[0],x[1]|w|k[1]|c.st)
            if name=='clear':
                m.write(c,o[1],f,pc); c.items.clear(); return (None,E)
            if name=='keys': return (Lst([(k,0) for k in c.items],rl|c.st|E),E)
            if name=='values': return (Lst(list(c.items.values()),rl|c.st|E),E)
        raise Err((o[1]|E) if m.r.err_operands else E,'method '+name)
    # ----- turns -----
    def turn(m,tree):
        m.steps=0; m.depth=0
        m.g.fn=0; m.g.loops=[]; m.tries=[]; m.stack=[]; m.caught=[]
        try:
            m.block(m.g,0,tree.body); m.errs.append(None)
        except Err as x:
            m.errs.append(x.lab)
            if m.r.err_floor: m.floor|=x.lab
        except Limit:
            m.errs.append('limit')
            if m.r.limit_floor: m.floor|=3
        except RecursionError:
            m.errs.append('limit')
            if m.r.limit_floor: m.floor|=3

def snap(v,seen):
    x,l=v
    if isinstance(x,Lst):
        if id(x) in seen: return ('cyc',l)
        s2=seen|{id(x)}
        return ('L',l,x.st,[snap(i,s2) for i in x.items])
    if isinstance(x,Dct):
        if id(x) in seen: return ('cyc',l)
        s2=seen|{id(x)}
        return ('D',l,x.st,[(k,snap(i,s2)) for k,i in x.items.items()])
    if isinstance(x,Func): return ('F',l,x.name)
    if x is UNB: return ('U',l)
    return ('V',l,x)
def mask(s,o):
    if s[1] & ~o if s[0]!='cyc' else s[1]&~o: return '*'
    if s[0] in 'LD' and s[0]!='cyc':
        if s[2] & ~o: return s[0]+'*'
        if s[0]=='L': return ['L']+[mask(i,o) for i in s[3]]
        return ['D']+[(k,mask(i,o)) for k,i in s[3]]
    return (s[0],)+tuple(s[2:])

def run(turns,inputs,rules):
    m=Machine(rules)
    for n,(v,st,lab) in inputs.items():
        if isinstance(v,list): m.g.vars[n]=(Lst([(x,xl) for x,xl in v],st),lab)
        else: m.g.vars[n]=(v,lab)
    for t in turns: m.turn(t)
    return m

def parse(src,rules=Rules()):
    ts=[]
    for part in src.split('\n---\n'):
        t=ast.parse(part); annotate(t,rules); ts.append(t)
    return ts

def dead(m,o):
    if m.floor & ~o: return True
    for e in m.errs:
        if e=='limit' or (e is not None and e & ~o): return True
    return False

def compare(m1,m2,o):
    t1=[mask(x,o) for p,x in m1.trace if not p&~o]
    t2=[mask(x,o) for p,x in m2.trace if not p&~o]
    n=min(len(t1),len(t2))
    if t1[:n]!=t2[:n]: return 'trace differs at low calls %r / %r'%(t1,t2)
    d1,d2=dead(m1,o),dead(m2,o)
    if not d1 and len(t1)<len(t2): return 'calls %r / %r'%(t1,t2)
    if not d2 and len(t2)<len(t1): return 'calls %r / %r'%(t1,t2)
    if not d1 and not d2:
        names=set(m1.g.vars)|set(m2.g.vars)
        for n in sorted(names):
            a=mask(snap(m1.g.vars.get(n,(UNB,0)),set()),o); b=mask(snap(m2.g.vars.get(n,(UNB,0)),set()),o)
            if a!=b: return 'global %s: %r / %r'%(n,a,b)
    return None
