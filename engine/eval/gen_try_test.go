package eval

// Tries, for the generator of random programs.
func init() {
	blockStmts = append(blockStmts, templatesOf(
		"try:\n?except:\n`", "try:\n?except:\n  pass\n", "try:\n?except Exception as q0:\n  send(str(q0))\n", "try:\n?except Exception:\n`else:\n`", "try:\n?finally:\n`", "try:\n?except (ValueError, TypeError):\n`", "try:\n?except ZeroDivisionError:\n`except Exception:\n`",
		"try:\n?except LookupError:\n`finally:\n`", "try:\n?except:\n`else:\n`finally:\n`", "try:\n`except:\n`", "try:\n`except Exception as q0:\n  send(q0.code)\n`finally:\n`", "try:\n`finally:\n`", "try:\n?except Exception:\n  raise\n", "try:\n?except TypeError:\n  if $B: raise\n  send(1)\n", "for n1 in [0, 1]:\n  try:\n    if $B: continue\n    if $B: break\n    $A\n  except:\n    if $B: break\n  send(n1)\n",
	)...)
	simpleStmts = append(simpleStmts, templatesOf(
		"try: @I = 7 // $I\nexcept ZeroDivisionError: @I = 0", "try: @I = int($T)\nexcept ValueError: pass", "try: @I = $L[$I]\nexcept IndexError: @I = 0", "try: @T = $D[$I]\nexcept KeyError: pass", "try: $R.append(7 // $I)\nexcept: pass", "try: send(7 // $I)\nexcept: pass", "try: send($A + $A)\nexcept TypeError: send(0)", "try: send(div($I, $I))\nexcept Exception: send(0)", "try: pay($I)\nexcept Exception: pass",
		"try: @I = $C\nexcept: @I = 1", "try: @I = json.loads($T)\nexcept: @I = 0", "try: send($F($I))\nexcept: pass", "try: send(isinstance($A, $A))\nexcept Exception as q0: send([type(q0), isinstance(q0, TypeError)])",
	)...)
	simpleStmts = append(simpleStmts, templatesOf(
		"try: $A\nexcept: pass\nelse: send(1)", "try: $A\nfinally: send(1)", "try:\n  raise ValueError($A)\nexcept ValueError as q0:\n  send(q0.args)\n  send(str(q0))",
	)...)
	leakStmts = append(leakStmts, templatesOf(
		"n0 = 0\ntry:\n  n0 = 1\n  send(7 // $I)\n  n0 = 2\nexcept ZeroDivisionError:\n  n0 = 3\nsend(n0)",
		"q0 = []\ntry:\n  7 // $I\n  q0.append(1)\nexcept: pass\nsend(len(q0))",
		"q0 = []\ntry:\n  7 // $I\nexcept: q0.append(1)\nsend(len(q0))",
		"q0 = []\ntry:\n  7 // $I\nexcept: pass\nelse: q0.append(1)\nsend(len(q0))",
		"try:\n  if $B: raise ValueError\n  send(1)\nexcept ValueError: pass\nsend(2)",
		"try:\n  if $B: raise ValueError($I)\nexcept ValueError as q0: send(q0.args)\nelse: send(2)\nsend(3)",
		"try:\n  assert $B, $A\n  send(1)\nexcept AssertionError as q0: send(str(q0))\nsend(quota())",
		"def r0():\n  try:\n    return 7 // $I\n  except: return 0\nsend(r0())",
		"def r0():\n  try:\n    7 // $I\n    return 1\n  except ZeroDivisionError: pass\n  send(5)\n  return 2\nsend(r0())",
		"for n1 in [0, 1, 2]:\n  try:\n    7 // ($I - n1)\n    if $B: continue\n    send(n1)\n  except: break\nsend(n1)",
		"n0 = 0\nfor n1 in $L[:3]:\n  try:\n    7 // n1\n  except: continue\n  n0 += 1\nsend(n0)",
		"for n1 in [0, 1]:\n  try:\n    if $B: continue\n  finally:\n    if $B: break\nelse: send(1)\nsend(n1)",
		"def r0():\n  for n1 in [0, 1]:\n    try:\n      try:\n        if $B: continue\n      finally: 7 // $I\n    except ZeroDivisionError: return 0\n  send(1)\nr0()",
		"def r0():\n  for n1 in [0, 1]:\n    try:\n      if $B: continue\n    finally:\n      if $B: return 2\n  send(1)\nr0()",
		"def r0():\n  try:\n    if $B: return 1\n  finally: 7 // $I\ntry:\n  r0()\n  send(1)\nexcept ZeroDivisionError: send(2)",
		"try:\n  for n1 in [0, 1]:\n    try:\n      if $B: break\n    finally: 7 // $I\n  send(1)\nexcept ZeroDivisionError: send(2)",
		"try:\n  try: raise ValueError\n  except (ValueError if $B else KeyError): pass\nexcept ZeroDivisionError: pass\nsend(5)",
		"try:\n  for n1 in [0, 1]:\n    try:\n      try: raise KeyError\n      except [KeyError, ValueError][n1 * $S % 2]:\n        if $B: continue\n    finally: 7 // $I\n  send(1)\nexcept: send(2)",
		"n0 = 0\nwhile n0 < 3:\n  n0 += 1\n  try:\n    if 7 // $S > 2: break\n  except: continue\n  finally: send(n0)\nsend(n0)",
		"q0 = []\ndef r0():\n  n1 = 0\n  q0.append(lambda: n1)\n  7 // $I\n  n1 = 1\ntry: r0()\nexcept: pass\nsend(q0[0]())",
		"q0 = []\nn2 = [q0.append]\ndef r0():\n  n1 = 0\n  n2[0](lambda: n1)\n  7 // $I\n  n1 = 1\ntry: r0()\nexcept: pass\nsend(q0[0]())",
		"q0 = []\ndef r0(n1):\n  q0.append(lambda: n1)\n  for n1 in [5, 6]: 7 // ($I - n1 + 5)\ntry: r0(0)\nexcept: pass\nsend(q0[0]())",
		"try:\n  try:\n    7 // $I\n    send(1)\n  finally:\n    send(2)\nexcept: send(3)\nsend(4)",
		"try:\n  try:\n    7 // $I\n    send(1)\n  except TypeError: send(2)\n  send(3)\nexcept: send(4)\nsend(5)",
		"try:\n  try:\n    7 // $I\n  except: [][$S]\n  send(3)\nexcept: send(4)\nsend(5)",
		"for n1 in [0, 1]:\n  try:\n    7 // $I\n  finally:\n    if $B: continue\n  send(n1)\nsend(n1)",
		"def r0():\n  try:\n    return 7 // $I\n  finally:\n    if $B: return 1\ntry: send(r0())\nexcept: send(2)",
		"def r0():\n  if $B: return 1\n  7 // $I\n  return 2\ntry: send(r0())\nexcept: send(3)\nsend(4)",
		"try:\n  ({} if $B else [])[5]\nexcept KeyError: n0 = 1\nexcept IndexError: n0 = 2\nsend(n0)",
		"q0 = []\ntry:\n  [q0.append(7 // z) for z in $L]\nexcept: pass\nsend(len(q0))",
		"q0 = []\ntry:\n  sorted($L[:3], key = lambda z: q0.append(7 // z) or z)\nexcept: pass\nsend(len(q0))",
		"q0 = []\ntry:\n  for n1 in [2, 1, 0]: q0.append(7 // ($I - n1))\nexcept: pass\nsend(q0)",
		"try:\n  try: 7 // $I\n  except:\n    if $B: raise\nexcept: send(1)\nsend(2)",
		"try: 7 // $I\nexcept (ZeroDivisionError if $B else TypeError): send(1)\nexcept: send(2)\nsend(3)",
		"try:\n  if $B: send(7 // $I)\n  else: send([][$I])\nexcept ZeroDivisionError: send(1)\nexcept IndexError: send(2)\nsend(3)",
		"try:\n  $B and 7 // $I\n  n0 = 1 if $B else 7 // $I\nexcept: n0 = 2\nsend(n0)\nsend(3)",
		"def r0():\n  try:\n    7 // $I\n    return\n  except: pass\n  q0.append(1)\nq0 = []\nr0()\nsend(len(q0))",
		"try:\n  send(mail($S).id)\n  send(mail($A))\nexcept: send(1)\nsend(2)", "try: look($I)\nexcept Exception as q0: send(q0.code)\nelse: send(1)\nsend(quota())", "try:\n  div(7, $I)\n  send(1)\nexcept ToolError: send(2)\nsend(quota())",
		"try:\n  n0 = endorse($B, 'user', 'w')\nexcept: n0 = False\nsend(n0)", "try:\n  choose($I, [0, 1])\n  send(1)\nexcept ValueError: send(2)\nsend(3)",
		"fs.append(ValueError($I))\ntry: raise fs[-1]\nexcept ValueError as q0: send(isinstance(q0, Exception))\nsend(len(fs))",
		"try: raise (ValueError if $B else KeyError)\nexcept ValueError: send(1)\nexcept: send(2)\nsend(3)", "try: raise [ValueError($I), KeyError($I)][$S % 2]\nexcept KeyError as q0: send(q0)\nexcept Exception as q0: send(str(q0))",
		"q0 = {}\ntry:\n  q0[7 // $S] = 1\n  q0[$A] = 2\nexcept: pass\nsend(len(q0))\nsend(q0)", "try:\n  (n0, n1) = $L\nexcept ValueError: n0 = 9\nsend(n0)", "n0 = 1\ntry: n0 += 7 // $I\nexcept: pass\nsend(n0)\ntry: n0 //= $I\nexcept: pass\nsend(n0)",
		"try:\n  def r0(): return 7 // $I\n  n0 = r0()\nexcept: n0 = 0\nsend(n0)", "try:\n  if $B: u0 = 1\n  send(u0)\nexcept NameError: send(1)\nsend(2)", "try: 7 // $I\nexcept ZeroDivisionError as u0: pass\nsend(1)",
		"def r0(n1):\n  try:\n    if n1 == 0: return 7 // $I\n    return r0(n1 - 1)\n  except TypeError: return 1\n  finally: q0.append(n1)\nq0 = []\ntry: send(r0(2))\nexcept: send(3)\nsend(len(q0))",
		"try: $R.pop($I)\nexcept: pass\nsend(len(#R))", "try: $M.pop($I)\nexcept KeyError: send(1)\nsend(2)", "try: $W.remove($I)\nexcept KeyError: n0 = 1\nsend(n0)", "try:\n  for n1 in #R: $R.append(7 // $I)\nexcept: pass\nsend(len(#R))\n#R.append(1)",
	)...)
	enderStmts = append(enderStmts, templatesOf(
		"raise ValueError", "raise KeyError($A)", "raise TypeError($I, $T)", "if $B: raise ValueError($A)", "raise ValueError($I) from TypeError($A)", "raise [$A][0]", "raise (ValueError if $B else $A)", "send(ValueError($A))", "try: $A\nexcept $A: send(1)", "try: 7 // $I\nexcept (ValueError, $A): send(1)", "try: 7 // $I\nfinally: 7 // $I", "try: fail($A)\nexcept TypeError: pass", "try: ask($I)\nexcept: send(1)", "try: done($I)\nexcept: send(1)", "try: [1] * (1 << ($S * 40))\nexcept: send(1)\nfinally: send(2)", "try:\n  while $B: pass\nexcept: send(1)", "try: print($A)\nexcept: send(1)",
	)...)
}
