package eval

import (
	_ "embed"
	"slices"
	"strings"
)

// Templates of expressions, and of statements in which \n ends a line: one a line each.
var (
	//go:embed testdata/constructs-expressions.txt
	smallExprText string
	//go:embed testdata/constructs-statements.txt
	smallStmtText string
)

// The constructs: those of the files, and what many kinds of operands have in common.
var (
	smallExprs           = linesOf(smallExprText)
	smallStmts           = unfolded(linesOf(smallStmtText))
	wideExprs, wideStmts = wideTexts()
)

// unfolded puts the ends of lines into templates.
func unfolded(list []string) []string {
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], `\n`, "\n")
	}
	return list
}

func wideTexts() (exprs, stmts []string) {
	for _, kinds := range []struct{ ops, kinds string }{
		{"+ - * / // % **", "int,int num,num any,any"},
		{"& | ^ << >>", "int,int int,nat bool,int"},
		{"+", "str,str bytes,bytes list,list tuple,tuple deque,deque nt,tuple struct,struct counter,counter date,delta delta,date dtime,delta delta,delta list,tuple"},
		{"-", "set,set counter,counter date,date date,delta dtime,dtime dtime,delta delta,delta"},
		{"*", "str,nat nat,str list,nat nat,list tuple,nat bytes,nat deque,nat nat,deque delta,num num,delta nt,nat"},
		{"/", "delta,num delta,delta"},
		{"//", "delta,int delta,delta"},
		{"%", "delta,delta str,int str,str pct,int pct,any pct,pair pct,tuple pct,sdict pct,float pct,str pct,tuple"},
		{"| & ^", "set,set dict,dict counter,counter sdict,sdict odict,dict ddict,dict set,any"},
		{"== !=", "any,any int,float str,str list,list lists,lists tuple,tuple nt,tuple pair,nt dict,dict sdict,sdict ldict,ldict set,set struct,struct range,range deque,deque counter,counter counter,dict odict,odict odict,dict ddict,dict bytes,bytes date,date dtime,dtime time,time delta,delta zone,zone mixed,mixed exc,exc func,func pattern,pattern seq,seq match,match bool,bool method,method"},
		{"< <= > >=", "any,any int,float num,num str,str list,list lists,lists tuple,tuple pair,nt set,set deque,deque bytes,bytes date,date dtime,dtime time,time delta,delta mixed,mixed bool,bool pairs,pairs counter,counter"},
		{"in", "any,any int,list int,tuple int,set int,dict int,range int,bytes str,str bytes,bytes str,strs str,sdict list,lists int,deque int,counter int,odict int,ddict int,nt pair,pairs str,seq any,mixed any,set any,anydict pair,set int,seq"},
	} {
		for op := range strings.FieldsSeq(kinds.ops) {
			for pair := range strings.FieldsSeq(kinds.kinds) {
				x, y, _ := strings.Cut(pair, ",")
				exprs = append(exprs, "$"+x+" "+op+" $"+y)
				if op == "in" {
					exprs = append(exprs, "$"+x+" not in $"+y)
				} else if !strings.ContainsAny(op, "=<>!") || op == "<<" || op == ">>" {
					stmts = append(stmts, "v1 = $"+x+"\nv1 "+op+"= $"+y+"\nq0 = v1", "$"+x+"\n#1 "+op+"= $"+y)
				}
			}
		}
	}
	for _, pair := range []struct{ ops, kind string }{
		{"+", "addends"}, {"*", "factors"}, {"/ // % -", "divisors"}, {"| & ^ -", "sets"}, {"<< >>", "shifts"}, {"**", "powers"},
		{"== != < <= > >=", "compared"}, {"in|not in", "members"},
	} {
		ops := strings.Fields(pair.ops)
		if strings.Contains(pair.ops, "in") {
			ops = strings.Split(pair.ops, "|")
		}
		for _, op := range ops {
			stmts = append(stmts, "v1, v2 = $"+pair.kind+"\nq0 = v1 "+op+" v2")
		}
	}
	// A change of what is labelled already, of one of two, and of what a loop runs over.
	for made, changes := range map[string]string{
		"[1, 2]":                                    "v1[0] = 3|v1[:1] = [3]|v1.append(3)|v1.extend([3])|v1.insert(0, 3)|v1.pop()|v1.remove(1)|v1.reverse()|v1.sort()|v1.clear()|v1 += [3]|del v1[0]|del v1[:1]|v1[0] += 1|heapq.heappush(v1, 0)|heapq.heappop(v1)|heapq.heapify(v1)",
		"{1: 2, 3: 4}":                              "v1[1] = 3|v1[5] = 6|v1.pop(1)|v1.popitem()|v1.setdefault(7, 8)|v1.update({7: 8})|v1.update([(7, 8)])|v1.update(a = 1)|v1 \\= {7: 8}|v1.clear()|del v1[1]|v1[1] += 1",
		"{1, 2}":                                    "v1.add(3)|v1.remove(1)|v1.discard(1)|v1.pop()|v1.clear()|v1.update([3])|v1.difference_update([1])",
		"collections.deque([1, 2])":                 "v1.append(3)|v1.appendleft(3)|v1.pop()|v1.popleft()|v1.extend([3])|v1.extendleft([3])|v1.rotate()|v1.insert(0, 3)|v1.remove(1)|v1.reverse()|v1.clear()|v1[0] = 4",
		"collections.Counter([1, 1, 2])":            "v1[1] += 1|v1.update([1])|v1.subtract([1])|v1.update({1: 2})|v1.update(a = 1)|v1.pop(1)|del v1[1]",
		"collections.defaultdict(int, {1: 2})":      "v1[5]|v1[5] += 1|v1[1] = 3|v1.pop(1)|v1[1]",
		"collections.OrderedDict([(1, 2), (3, 4)])": "v1.popitem()|v1.move_to_end(1)|v1.move_to_end(1, False)|v1.popitem(False)|del v1[1]",
	} {
		for change := range strings.SplitSeq(changes, "|") {
			change = strings.ReplaceAll(change, "\\", "|")
			more := "v1[5] = 6"
			switch made[0] {
			case '[':
				more = "v1.append(5)"
			case '{':
				if !strings.Contains(made, ":") {
					more = "v1.add(5)"
				}
			case 'c':
				if strings.Contains(made, "deque") {
					more = "v1.append(5)"
				}
			}
			stmts = append(stmts,
				"v1 = "+made+"\nif $bool: "+more+"\n"+change+"\nq0 = len(v1)",
				"v3 = "+made+"\nv4 = "+made+"\nv1 = v3 if $bool else v4\n"+change+"\nq0 = len(v3)",
				"v3 = "+made+"\nv1 = v3 if $bool else "+made+"\nfor v9 in v3: "+change,
				"v3 = "+made+"\nv4 = "+made+"\nif $bool: "+strings.ReplaceAll(more, "v1", "v4")+"\nfor v9 in v3:\n  v1 = v3 if #1 else v4\n  "+change,
				"v3 = "+made+"\nv1 = v3 if $bool else $any\n"+change)
		}
	}
	slices.Sort(stmts)
	stmts = append(stmts, "v1, v2 = $indexed\nq0 = v1[v2]", "v1, v2 = $indexed\nq0 = v1[v2:]", "v1, v2 = $indexed\ndel v1[v2]", "v1, v2 = $indexed\nv1[v2] = 3", "v1, v2 = $indexed\nv1[v2] += 1")
	for kind := range strings.FieldsSeq("list tuple str bytes range deque nt strs lists") {
		exprs = append(exprs, "$"+kind+"[$nat]", "$"+kind+"[$int]", "$"+kind+"[$nat:]", "$"+kind+"[:$int]", "$"+kind+"[$nat:$nat]", "$"+kind+"[::$int]", "$"+kind+"[$int:$int:$int]", "$"+kind+"[$any]")
	}
	for kind := range strings.FieldsSeq("any int str list dict set tuple range deque counter ddict odict nt struct exc match date dtime time delta zone seq pattern method func bytes float bool mixed") {
		exprs = append(exprs, "str($"+kind+")", "repr($"+kind+")", "bool($"+kind+")", "not $"+kind, "type($"+kind+")", "f\"{$"+kind+"}\"", "[$"+kind+"]", "{$"+kind+": 1}", "($"+kind+" if $"+kind+" else $"+kind+")", "($"+kind+" and $"+kind+")", "($"+kind+" or $"+kind+")", "dir($"+kind+")", "hash($"+kind+")", "json.dumps($"+kind+")", "copy.copy($"+kind+")", "copy.deepcopy($"+kind+")", "isinstance($"+kind+", $notclass)", "'%s' % $"+kind)
		stmts = append(stmts, "send($"+kind+")", "print($"+kind+")", "v1 = $"+kind+"\nif v1: v0 = 1", "assert $"+kind, "raise ValueError($"+kind+")")
	}
	for _, pair := range []struct{ ops, kind string }{
		{"+", "addends"}, {"*", "factors"}, {"/ // % -", "divisors"}, {"| & ^ -", "sets"}, {"<< >>", "shifts"}, {"**", "powers"},
		{"== != < <= > >=", "compared"}, {"in|not in", "members"},
	} {
		ops := strings.Fields(pair.ops)
		if strings.Contains(pair.ops, "in") {
			ops = strings.Split(pair.ops, "|")
		}
		for _, op := range ops {
			stmts = append(stmts, "v1, v2 = $"+pair.kind+"\nq0 = v1 "+op+" v2")
		}
	}
	stmts = append(stmts, "v1, v2 = $indexed\nq0 = v1[v2]", "v1, v2 = $indexed\nq0 = v1[v2:]", "v1, v2 = $indexed\ndel v1[v2]", "v1, v2 = $indexed\nv1[v2] = 3", "v1, v2 = $indexed\nv1[v2] += 1")
	for kind := range strings.FieldsSeq("list tuple str bytes range deque set dict counter ddict odict nt seq strs lists pairs mixed sdict any") {
		exprs = append(exprs, "len($"+kind+")", "list($"+kind+")", "tuple($"+kind+")", "set($"+kind+")", "[*$"+kind+", 1]", "{*$"+kind+"}", "(lambda *z: z)(*$"+kind+")", "[z for z in $"+kind+"]", "[v0 for z in $"+kind+" if $bool]", "{z for z in $"+kind+"}", "{z: 1 for z in $"+kind+"}", "sorted($"+kind+")", "reversed($"+kind+")", "enumerate($"+kind+")", "max($"+kind+")", "min($"+kind+", default = $int)", "any($"+kind+")", "all($"+kind+")", "sum($"+kind+")", "zip($"+kind+", $iter)", "list(map(str, $"+kind+"))", "any(z for z in $"+kind+")", "next((z for z in $"+kind+"), $int)", "dict.fromkeys($"+kind+", $int)", "list(itertools.chain($"+kind+", $ints))")
		stmts = append(stmts, "for v1 in $"+kind+":\n  v0 += 1", "for v1 in $"+kind+":\n  send(1)", "for v1 in $"+kind+": pass\nelse: v0 = 2", "v1, v2 = $"+kind, "v1, *v2 = $"+kind, "q0 = [3]\nq0 += $"+kind, "q0 = [3]\nq0.extend($"+kind+")", "q0 = [3, 4]\nq0[:1] = $"+kind, "q0 = {3}\nq0.update($"+kind+")", "for v1 in $"+kind+":\n  if $bool: break\n  v0 += 1")
	}
	for _, class := range []string{"date", "dtime", "time", "delta", "zone"} {
		for m := range strings.FieldsSeq("year month day hour minute second microsecond tzinfo days seconds microseconds isoformat() weekday() isoweekday() toordinal() isocalendar() date() time() timetz() timestamp() utcoffset() tzname() total_seconds() isocalendar().week") {
			exprs = append(exprs, "$"+class+"."+m)
		}
	}
	for m := range strings.FieldsSeq("acos asin atan cbrt cos cosh degrees exp expm1 fabs log10 log1p log2 radians sin sinh sqrt tan tanh isfinite isinf isnan ceil floor trunc factorial isqrt log") {
		exprs = append(exprs, "math."+m+"($num)", "math."+m+"($float)", "math."+m+"($any)")
	}
	for m := range strings.FieldsSeq("atan2 copysign fmod pow hypot gcd comb isclose log") {
		exprs = append(exprs, "math."+m+"($num, $num)", "math."+m+"($int, $nat)", "math."+m+"($any, $num)", "math."+m+"($num, $any)")
	}
	for m := range strings.FieldsSeq("mean fmean variance pvariance stdev pstdev median_low median_high median mode") {
		exprs = append(exprs, "statistics."+m+"($ints)", "statistics."+m+"([1, $num, 3])", "statistics."+m+"([1, 5, 2, $num])", "statistics."+m+"($mixed)", "statistics."+m+"($any)")
	}
	for m := range strings.FieldsSeq("upper lower capitalize title swapcase casefold isalnum isalpha isascii isdecimal isdigit isnumeric isprintable isspace islower isupper istitle isidentifier") {
		exprs = append(exprs, "$str."+m+"()")
	}
	for m := range strings.FieldsSeq("find rfind index rindex count startswith endswith removeprefix removesuffix") {
		exprs = append(exprs, "$str."+m+"($char)")
		if m != "removeprefix" && m != "removesuffix" {
			exprs = append(exprs, "$str."+m+"($char, $int)", "$str."+m+"($char, $nat, $nat)", "$str."+m+"($any)", "$str."+m+"('a', $any)")
		}
	}
	return exprs, stmts
}
