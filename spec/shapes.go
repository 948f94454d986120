package spec

import "regexp"

// The tables of the documents' keys. The loader, the JSON Schemas, and the tables in
// agent.md and decision.md follow them; a test holds them in step.

// The words that documents may use.
var (
	trustLevels  = []string{"untrusted", "internal", "user", "system"}
	callKinds    = []string{"tool", "builtin", "program", "observe", "answer", "model", "endorse", "declassify"}
	effectNames  = []string{"read", "write", "egress", "destructive"}
	sinkKinds    = []string{"recipient", "account", "url", "path", "word", "query", "content", "secret", "model", "none"}
	obligations  = []string{"redact", "label", "limit", "mark", "isolate", "mask", "notify"}
	signatures   = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "HS256", "HS384", "HS512"}
	reserved     = []string{"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"}
	patternName  = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	patternIdent = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	patternInput = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	patternID    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,127}$`)
	patternTool  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$`)
	patternGlob  = regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`)
	patternWho   = regexp.MustCompile(`^[^\s,{}#]+$`)
	patternAge   = regexp.MustCompile(`^age1[02-9ac-hj-np-z]{58}$`)
	patternTag   = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)
	patternURL   = regexp.MustCompile(`^https?://[^\s@/?#]+([/?#][^\s]*)?$`)
	patternRing  = regexp.MustCompile(`^[^/\x00-\x1f\x7f]{1,128}/[^\x00-\x1f\x7f]{1,128}$`)
	patternLabel = regexp.MustCompile(`^(untrusted|internal|user|system)(/(public|\{([^\s,{}#]+(,[^\s,{}#]+)*)?\}))?(#[a-z][a-z0-9_.-]*)*$`)
	patternCall  = regexp.MustCompile(`^[0-9]+(\.[a-z]?[0-9]*)+$`)
	patternTime  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$`)
	patternMail  = regexp.MustCompile(`^[^\s,{}#*]+$`)
)

// Shapes that several documents share.
var (
	plainData = &shape{form: dataForm}
	dataMap   = &shape{form: freeForm, item: plainData, want: "a map"}

	fileReference = &shape{form: mapForm, want: "{file: PATH}", keys: []key{
		{name: "file", shape: &shape{form: textForm, doc: "Path of the file, seen from this one.", want: "a path"}, required: true},
	}}

	toolName  = &shape{form: textForm, pattern: patternTool, want: "the name of a tool, such as mail.read"}
	labelText = &shape{form: textForm, pattern: patternLabel, want: "a label such as untrusted/public, or user/{ana@corp.example}#pii"}
	whoNames  = &shape{form: listForm, item: &shape{form: textForm, pattern: patternWho, want: `a principal such as ana@corp.example, or "*"`}, want: `a list of principals, or ["*"]`, unique: true}
	tagNames  = &shape{form: listForm, item: &shape{form: textForm, pattern: patternTag, want: "a tag in lower case, such as pii"}, want: "a list of tags", unique: true}
	effects   = &shape{form: listForm, item: &shape{form: textForm, enum: effectNames}, want: "a list of " + orList(effectNames), unique: true}
)

func filePath(doc string) *shape { return &shape{form: textForm, want: "a path", doc: doc} }

func filePaths(doc string) *shape {
	return &shape{form: listForm, item: &shape{form: textForm, want: "a path"}, want: "a list of paths", doc: doc, unique: true}
}

func with(s *shape, doc string) *shape {
	c := *s
	c.doc = doc
	return &c
}

func text(doc string) *shape { return &shape{form: textForm, doc: doc} }

func number(u unit, doc string) *shape { return &shape{form: quantityForm, unit: u, doc: doc} }

func enum(doc string, words ...string) *shape { return &shape{form: textForm, enum: words, doc: doc} }

func yesNo(doc string) *shape { return &shape{form: boolForm, doc: doc} }

// document is the outermost map of a kind.
func document(kind, doc string, named bool, spec *shape) *shape {
	return &shape{form: mapForm, doc: doc, keys: []key{
		{name: "apiVersion", required: true, shape: enum("The version of the language.", APIVersion)},
		{name: "kind", required: true, shape: enum("What the document declares.", kind)},
		{name: "metadata", required: named, shape: &shape{form: mapForm, doc: "What the document is called.", keys: []key{
			{name: "name", required: true, shape: &shape{form: textForm, doc: "Its name, unlike every other of its kind.", pattern: patternName,
				want: `a name of lower-case letters, digits and dashes that begins with a letter, such as "inbox"`}},
			{name: "labels", shape: &shape{form: freeForm, item: &shape{form: textForm, empty: true}, doc: "Texts for people and tools to sort documents by. They mean nothing to Callgate.", want: "a map of texts"}},
		}}},
		{name: "spec", required: true, shape: spec},
	}}
}

var shapes = map[string]*shape{
	"Agent":    document("Agent", "An agent: what it is for, what it is given, and what it may use.", true, agentShape),
	"Policy":   document("Policy", "Rules, and the calls to which they are bound.", true, policyShape),
	"Toolset":  document("Toolset", "Tools under one name, with what is declared of them.", true, toolsetShape),
	"Scenario": document("Scenario", "A test of an agent and its policies: stubbed tools, a program, and what must come of it.", true, scenarioShape),
	"Host":     document("Host", "What the host, not the agent, decides: callgate.yaml.", false, hostShape),
}

var useShape = &shape{form: caseForm, cases: []*shape{
	{form: mapForm, open: true, data: "settings of the tool", doc: "A tool or a toolset by name; every other key is a setting of it.", keys: []key{
		{name: "use", required: true, shape: with(toolName, "Name of the tool, of the group of tools, or of a Toolset document; llm, or agent.")},
		{name: "model", def: "the agent's own", shape: with(modelShape, "Of llm: the model that is asked. It has no tools, and remembers nothing.")},
		{name: "calls", def: "any", shape: number(counts, "Of llm: how many questions the programs of a run may ask.")},
		{name: "tokens", def: "the run's", shape: number(counts, "Of llm: tokens that they may take, of those of the run.")},
		{name: "money", def: "the run's", shape: number(amounts, "Of llm: what they may cost, of what the run may.")},
		{name: "file", shape: filePath("Of agent: the file of the agent that is called, or its folder.")},
		{name: "for", def: "programs and agents", shape: enum("Who may use the tools: the agents that this one calls alone, and not its own programs.", "agents")},
	}},
	{form: mapForm, doc: "The tools of an MCP server.", keys: []key{
		{name: "mcp", required: true, shape: &shape{form: mapForm, doc: "How to reach the server.", one: []string{"command", "url"}, keys: []key{
			{name: "command", shape: &shape{form: listForm, item: &shape{form: textForm, empty: true}, some: true, doc: "The program to start and its arguments."}},
			{name: "url", shape: &shape{form: textForm, pattern: patternURL, secret: true, want: "a URL that begins with https:// or http:// and holds no password", doc: "Where the server listens."}},
		}}},
		{name: "pin", shape: filePath("File that keeps the server's tools as they were when they were accepted.")},
	}},
	{form: mapForm, doc: "Tools written in Starlark.", keys: []key{
		{name: "script", required: true, shape: filePath("The Starlark file.")},
	}},
}}

var secretShape = &shape{form: mapForm, secret: true, want: "{env: NAME}, {file: PATH} or {keyring: SERVICE/ACCOUNT}", one: []string{"env", "file", "keyring"},
	keys: []key{
		{name: "env", shape: &shape{form: textForm, secret: true, pattern: patternIdent, want: "the name of an environment variable", doc: "Name of the environment variable that holds it."}},
		{name: "file", shape: &shape{form: textForm, secret: true, want: "a path", doc: "Path of the file that holds it, seen from this one."}},
		{name: "keyring", shape: &shape{form: textForm, secret: true, pattern: patternRing, want: "SERVICE/ACCOUNT", doc: "Service and account under which the system's keyring holds it."}},
	}}

var modelShape = &shape{form: mapForm, keys: []key{
	{name: "provider", required: true, shape: enum("Who serves the model.", "openai", "anthropic", "recorded")},
	{name: "name", shape: text("The model's name.")},
	{name: "baseURL", def: "the provider's", shape: &shape{form: textForm, pattern: patternURL, secret: true, want: "a URL that begins with https:// or http:// and holds no password", doc: "Where the model is served."}},
	{name: "insecure", def: "false", shape: yesNo("Whether baseURL may begin with http:// though the server is not on this machine: whoever is in between reads the key, and all that the model is shown.")},
	{name: "key", def: "{env: OPENAI_API_KEY} or {env: ANTHROPIC_API_KEY} where baseURL is the provider's, else none", shape: with(secretShape, "Where the key is; never the key.")},
	{name: "reply", def: "fenced", shape: enum("How the model writes a program: as a fenced block in its text, or as the argument of a call of a tool.", "fenced", "tool")},
	{name: "maxTokens", def: "8192", shape: number(counts, "The most tokens of one reply. A program that is cut there is not run.")},
	{name: "timeout", def: "10m", shape: number(durations, "How long the model may take for one reply, attempts that fail included.")},
	{name: "price", def: "not known: limits.money cannot stand", shape: &shape{form: mapForm, doc: "What a million tokens cost, in the unit of limits.money.", keys: []key{
		{name: "in", required: true, shape: number(amounts, "Tokens that the model reads.")},
		{name: "out", required: true, shape: number(amounts, "Tokens that it writes.")},
		{name: "cached", def: "as in", shape: number(amounts, "Tokens that it reads from the provider's cache.")},
		{name: "written", def: "in and a quarter", shape: number(amounts, "Tokens that are put into the cache.")},
	}}},
	{name: "recording", shape: filePath("The transcript that is played.")},
}, when: []condition{
	{key: "provider", is: []string{"recorded"}, wants: []string{"recording"}, bans: []string{"baseURL", "insecure", "key", "reply", "maxTokens", "timeout", "price"}},
	{key: "provider", is: []string{"openai", "anthropic"}, wants: []string{"name"}, bans: []string{"recording"}},
}}

var agentShape = &shape{form: mapForm, one: []string{"model", "program"},
	when: []condition{
		{key: "mode", is: []string{"program"}, wants: []string{"program"}, bans: []string{"model"}},
		{key: "mode", is: []string{"react", "plan"}, wants: []string{"model"}, bans: []string{"program"}},
	},
	keys: []key{
		{name: "instructions", shape: &shape{form: textForm, file: true, want: "a text, or {file: PATH}", doc: "What the agent is for: told to the model before the task."}},
		{name: "model", shape: with(modelShape, "The language model that writes the programs.")},
		{name: "program", shape: filePath("A Starlark file to run in place of a model.")},
		{name: "mode", def: "react, or program if there is one", shape: enum("How programs come about: written turn by turn from what is shown, written from trusted text alone, or by a person.", "react", "plan", "program")},
		{name: "inputs", def: "none", shape: &shape{form: listForm, doc: "The values that a run is given.", item: &shape{form: mapForm, keys: []key{
			{name: "name", required: true, shape: &shape{form: textForm, pattern: patternInput, doc: "Its name, by which programs know it.", want: "a name of lower-case letters, digits and _ that begins with a letter"}},
			{name: "trust", def: "untrusted", shape: enum("Who may have influenced it.", trustLevels...)},
			{name: "readers", def: "the principal alone", shape: with(whoNames, "Who may learn it.")},
			{name: "tags", def: "none", shape: with(tagNames, "What kind of thing is in it.")},
			{name: "default", shape: &shape{form: textForm, empty: true, doc: "Its value where the run gives none. Without one, the run must."}},
		}}}},
		{name: "tools", def: "none", shape: &shape{form: listForm, item: useShape, doc: "What programs may call, policies permitting."}},
		{name: "returns", def: "anything", shape: &shape{form: dataForm, doc: "JSON Schema of the answer, for the agents that call this one.", want: "a JSON Schema"}},
		{name: "toolsets", def: "none", shape: filePaths("Files with Toolset documents, which tools may name.")},
		{name: "policies", def: "none", shape: filePaths("Files or folders with Policy documents of the agent's own: they can deny and ask, and grant nothing.")},
		{name: "observe", def: "hide-untrusted", shape: enum("What of the results the model is shown.", "reveal", "hide-untrusted", "policy")},
		{name: "limits", shape: with(limitsShape, "The budgets of one run.")},
		{name: "isolation", def: "as policy says", shape: enum("The least isolation in which programs run; a policy may raise it.", "none", "process", "container")},
		{name: "meter", def: "256", shape: number(counts, "How many bits endorsements, refusals and descriptions may tell in one session.")},
	}}

var limitsShape = &shape{form: mapForm, keys: []key{
	{name: "steps", def: "the engine's", shape: number(counts, "Steps of evaluation of one program.")},
	{name: "memory", def: "the engine's", shape: number(sizes, "Live memory of the session.")},
	{name: "wall", def: "the engine's", shape: number(durations, "Time that one program may take, waiting for tools included.")},
	{name: "calls", def: "the engine's", shape: number(counts, "Calls of tools in the run.")},
	{name: "turns", def: "the engine's", shape: number(counts, "Programs in the run.")},
	{name: "output", def: "the engine's", shape: number(sizes, "What one program may print.")},
	{name: "depth", def: "the engine's", shape: number(counts, "Function calls within each other.")},
	{name: "tokens", def: "1M", shape: number(counts, "Tokens of all models of the run, in and out.")},
	{name: "money", def: "any", shape: number(amounts, "What the models of the run may cost, in the unit of model.price.")},
}}

var matchShape = &shape{form: mapForm, keys: []key{
	{name: "kinds", def: "all", shape: matchWords("Kinds of call.", callKinds)},
	{name: "tools", def: "all", shape: globs("Tools by name; * stands for text without a dot, ** for any.", patternGlob, "a name or a pattern such as mail.*")},
	{name: "effects", def: "all", shape: matchWords("Effects, of which the tool has one or more.", effectNames)},
	{name: "sinks", def: "all", shape: matchWords("Kinds of sink, of which the tool has one or more.", append(append([]string{}, sinkKinds[:len(sinkKinds)-1]...), "control"))},
	{name: "agents", def: "all", shape: globs("Agents by name; * stands for any text.", patternGlob, "a name or a pattern such as inbox-*")},
	{name: "principals", def: "all", shape: globs(`Principals; * stands for any text, "group:NAME" for the members of a group.`, patternWho, "a principal or a pattern such as *@corp.example")},
}}

func matchWords(doc string, words []string) *shape {
	words = append(append([]string{}, words...), "*")
	return &shape{form: listForm, item: &shape{form: textForm, enum: words}, some: true, unique: true, doc: doc, want: "a list of " + orList(words)}
}

func globs(doc string, pattern *regexp.Regexp, want string) *shape {
	return &shape{form: listForm, item: &shape{form: textForm, pattern: pattern, want: want}, some: true, unique: true, doc: doc, want: "a list of names"}
}

func expression(doc string) *shape {
	return &shape{form: textForm, want: "a CEL expression as a text", doc: doc}
}

func namedExpressions(doc string, name *shape) *shape {
	return &shape{form: listForm, doc: doc, item: &shape{form: mapForm, keys: []key{
		{name: "name", required: true, shape: name},
		{name: "expression", required: true, shape: expression("A CEL expression.")},
	}}}
}

var policyShape = &shape{form: mapForm, any: []string{"rego", "cel"}, keys: []key{
	{name: "match", def: "every call", shape: with(matchShape, "The calls to which the rules are bound: every list that is there must match.")},
	{name: "mode", def: "enforce", shape: enum("Whether the rules decide, or are recorded and change nothing.", "enforce", "audit")},
	{name: "params", def: "none", shape: with(dataMap, "Values for the rules. {file: PATH} stands for what is in a YAML or JSON file of the policy root.")},
	{name: "rego", shape: &shape{form: mapForm, any: []string{"modules", "bundle"}, doc: "Rules in Rego.", keys: []key{
		{name: "modules", shape: filePaths("Files or folders of modules.")},
		{name: "bundle", shape: &shape{form: textForm, want: "a path", doc: "A bundle as OPA builds it: a folder or .tar.gz."}},
		{name: "verify", def: "need not be signed", shape: &shape{form: mapForm, doc: "How the bundle must be signed, as opa sign does.", keys: []key{
			{name: "key", required: true, shape: filePath("The public key as PEM, or the shared secret.")},
			{name: "keyID", def: "default", shape: text("Name of the key in the signature.")},
			{name: "algorithm", def: "RS256", shape: enum("Algorithm of the signature.", signatures...)},
			{name: "scope", def: "none", shape: text("Scope of the signature.")},
		}}},
	}}},
	{name: "cel", shape: &shape{form: mapForm, doc: "Rules in CEL.", keys: []key{
		{name: "matchConditions", def: "none", shape: namedExpressions("What must hold before a rule is looked at.",
			&shape{form: textForm, pattern: patternID, want: "a name such as sends", doc: "What people call it."})},
		{name: "variables", def: "none", shape: namedExpressions("Values for the rules, each of which may use those before it.",
			&shape{form: textForm, pattern: patternIdent, want: "a name of letters, digits and _", doc: "It is variables.NAME to what comes after it."})},
		{name: "rules", required: true, shape: &shape{form: listForm, some: true, item: ruleShape, doc: "The rules. Each is looked at; none hides another."}},
	}}},
}}

var ruleShape = &shape{form: mapForm,
	when: []condition{
		{key: "action", is: []string{"deny", "allow", "accept", "oblige"}, bans: []string{"approvers", "count", "otherThan", "ttl"}},
		{key: "action", is: []string{"accept"}, any: []string{"each", "args"}},
		{key: "action", is: []string{"oblige"}, wants: []string{"obligations"}, bans: []string{"args", "message", "messageExpression"}},
		{key: "each", is: []string{"leaf"}, bans: []string{"args"}},
	},
	keys: []key{
		{name: "id", required: true, shape: &shape{form: textForm, pattern: patternID, want: "an id of letters, digits, _, . and -, such as mail.unknown", doc: "What the model is told, and nothing more; unique in the policy."}},
		{name: "each", def: "once a call", shape: enum("Look at the rule for each leaf of the arguments, which is then leaf.", "leaf")},
		{name: "when", required: true, shape: expression("A CEL expression: whether the rule fires.")},
		{name: "action", required: true, shape: enum("What follows; oblige: the obligations alone.", "deny", "ask", "allow", "accept", "oblige")},
		{name: "message", shape: text("Why, for people.")},
		{name: "messageExpression", shape: expression("A CEL expression that makes the message.")},
		{name: "mode", def: "the policy's", shape: enum("Whether the rule decides, or is recorded and changes nothing.", "enforce", "audit")},
		{name: "args", def: "the leaf, with each", shape: expression("A CEL expression: list of the paths of the leaves that the rule is about.")},
		{name: "approvers", def: "whoever runs the agent", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternMail, want: "a principal, or group:NAME"}, some: true, unique: true, want: "a list of principals", doc: "Who may approve."}},
		{name: "count", def: "1", shape: number(counts, "How many must approve.")},
		{name: "otherThan", def: "nobody", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternMail, want: "requester, or a principal"}, some: true, unique: true, want: "a list of principals", doc: "Who may not; requester is on whose behalf the agent runs."}},
		{name: "ttl", def: "no end", shape: number(durations, "How long an approval is waited for, and how long it holds.")},
		{name: "obligations", def: "none", shape: &shape{form: listForm, doc: "What must be done for the decision to hold.", item: &shape{form: mapForm, open: true, data: "fields of the obligation", keys: []key{
			{name: "type", required: true, shape: enum("What kind of thing must be done.", obligations...)},
		}}}},
	}}

var toolsetShape = &shape{form: mapForm, keys: []key{
	{name: "tools", required: true, shape: &shape{form: listForm, item: useShape, some: true, doc: "The tools that use: NAME grants."}},
	{name: "declare", def: "as each tool declares", shape: &shape{form: listForm, doc: "What is declared of single tools, in place of what they declare themselves.", item: &shape{form: mapForm, keys: []key{
		{name: "tool", required: true, shape: with(toolName, "Name of the tool.")},
		{name: "effects", shape: with(effects, "What it does to the world; [] means nothing.")},
		{name: "sinks", shape: &shape{form: freeForm, item: &shape{form: textForm, enum: sinkKinds}, want: "a map from parameters to kinds of sink", doc: "Kind of sink of a parameter or a part of one: to, headers.Authorization, payments[].iban."}},
		{name: "label", shape: with(labelText, "Label of its result.")},
		{name: "of", shape: text("What the result comes from, for people: a text in which {args.NAME}, {args.NAME.host} and {item.NAME} are replaced.")},
		{name: "fields", shape: &shape{form: freeForm, item: labelText, want: "a map from paths to labels", doc: "Labels of parts of its result: [].body, .total. The longest path wins."}},
		{name: "structure", shape: with(labelText, "Label of lengths, order and keys of its result. An assumption: check names it.")},
		{name: "idempotent", def: "as the tool declares", shape: yesNo("Whether a second call with the same key has no further effect.")},
		{name: "timeout", def: "as the tool declares", shape: number(durations, "How long one call may take.")},
	}}}},
}}

var scenarioShape = &shape{form: mapForm, one: []string{"program", "recording"}, keys: []key{
	{name: "agent", required: true, shape: filePath("The agent: its folder or file.")},
	{name: "inputs", def: "the agent's defaults", shape: &shape{form: freeForm, names: &shape{form: textForm, pattern: patternInput, want: "the name of an input"},
		item: &shape{form: textForm, file: true, empty: true, want: "a text, or {file: PATH}"}, want: "a map from inputs to texts", doc: "What the run is given."}},
	{name: "principal", def: "the host's", shape: with(principalShape, "On whose behalf.")},
	{name: "program", shape: filePath("The Starlark file that is run.")},
	{name: "recording", shape: filePath("The transcript that the model plays.")},
	{name: "time", def: "2026-12-01T10:00:00Z", shape: &shape{form: textForm, pattern: patternTime, want: "a time such as 2026-12-01T10:00:00Z", doc: "What the clock says: it stands still."}},
	{name: "author", def: "user/public", shape: with(labelText, "Label of the program's author.")},
	{name: "tools", def: "stubs", shape: enum("What answers a call: the stubs alone, or the tools themselves, in a fresh state, where no stub does.", "stubs", "real")},
	{name: "stubs", def: "none", shape: &shape{form: listForm, doc: "What tools answer. The first whose args fit is taken; a tool without one is not called.", item: &shape{form: mapForm, one: []string{"result", "error"},
		keys: []key{
			{name: "tool", required: true, shape: with(toolName, "Name of the tool.")},
			{name: "args", def: "any", shape: with(dataMap, "Arguments that the call must have.")},
			{name: "result", shape: with(plainData, "What it answers. {file: PATH} stands for the text of a file.")},
			{name: "error", shape: &shape{form: mapForm, doc: "How it fails.", keys: []key{
				{name: "code", required: true, shape: &shape{form: textForm, pattern: patternName, want: "a code in lower case with dashes, such as not-found", doc: "What programs tell errors apart by."}},
				{name: "text", def: "the code", shape: text("The error in words.")},
			}}},
			{name: "label", def: "as the tool declares", shape: with(labelText, "Label of the result.")},
			{name: "fields", def: "as the tool declares", shape: &shape{form: freeForm, item: labelText, want: "a map from paths to labels", doc: "Labels of parts of the result."}},
			{name: "times", def: "any number", shape: number(counts, "How many calls it answers.")},
		}}}},
	{name: "approve", def: "none", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternGlob, want: "the id of a rule"}, unique: true, want: "a list of rules", doc: `The asks that are approved, by the ids of their rules; ["*"] means every one.`}},
	{name: "expect", required: true, shape: &shape{form: mapForm, doc: "What must come of it.", any: []string{"outcome", "answer", "calls", "effects", "never", "labels"}, keys: []key{
		{name: "outcome", shape: enum("How the run ends.", "done", "failed", "denied", "budget", "waiting")},
		{name: "answer", shape: with(plainData, "The answer.")},
		{name: "calls", shape: &shape{form: listForm, doc: "Calls that are made, in this order; others may stand between them.", item: &shape{form: mapForm, keys: []key{
			{name: "tool", required: true, shape: with(toolName, "Name of the tool.")},
			{name: "kind", def: "tool", shape: enum("Kind of the call.", callKinds...)},
			{name: "call", def: "any", shape: &shape{form: textForm, pattern: patternCall, want: "the id of a call, such as 2.4", doc: "Its id."}},
			{name: "args", def: "any", shape: with(dataMap, "Arguments that it has.")},
			{name: "effect", required: true, shape: enum("What is decided.", "allow", "ask", "deny")},
			{name: "rules", def: "any", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternID, want: "the id of a rule"}, unique: true, want: "a list of ids of rules", doc: "Rules that are among the reasons, by their ids or what these begin with up to a dot."}},
			{name: "label", def: "any", shape: with(labelText, "Label of what it gives.")},
		}}}},
		{name: "effects", shape: &shape{form: listForm, doc: "The calls of tools that write, send or destroy which are carried out: these, in this order, and no others.", item: &shape{form: mapForm, keys: []key{
			{name: "tool", required: true, shape: with(toolName, "Name of the tool.")},
			{name: "args", def: "any", shape: with(dataMap, "Arguments that it has.")},
		}}}},
		{name: "never", shape: &shape{form: listForm, item: toolName, some: true, unique: true, want: "a list of tools", doc: "Tools that are not run."}},
		{name: "labels", shape: &shape{form: freeForm, item: labelText, want: "a map from names to labels", names: &shape{form: textForm, pattern: patternIdent, want: "the name of a variable"}, doc: "Labels of the program's variables when it ends."}},
	}}},
}}

var principalShape = &shape{form: mapForm, keys: []key{
	{name: "sub", required: true, shape: &shape{form: textForm, pattern: patternMail, want: "a name such as ana@corp.example", doc: "Who."}},
	{name: "groups", def: "none", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternMail, want: "the name of a group"}, unique: true, want: "a list of groups", doc: "The groups they are in."}},
	{name: "claims", def: "none", shape: with(dataMap, "What else is known of them, for policies.")},
}}

var hostShape = &shape{form: mapForm, keys: []key{
	{name: "policies", def: "none", shape: filePaths("Files or folders with Policy documents. Without any, and without a library, every effect is denied.")},
	{name: "library", def: "none", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternName, want: "the name of a shipped policy, such as base"}, unique: true, want: "a list of names", doc: "Shipped policies."}},
	{name: "params", def: "none", shape: with(dataMap, "Values for the shipped policies. {file: PATH} stands for what is in a YAML or JSON file beside this one or below.")},
	{name: "principal", def: "nobody", shape: with(principalShape, "On whose behalf agents run, and get answers. What tools read is for the principal alone.")},
	{name: "people", def: "whoever is at the machine is the principal", shape: &shape{form: listForm, some: true, want: "a list of people", doc: "Who may be at the machine: who approves there, and reads runs, is whom their login says. With it, other logins are nobody.", item: &shape{form: mapForm, keys: []key{
		{name: "login", required: true, shape: &shape{form: textForm, pattern: patternMail, want: "the name that the operating system has for the account, or its number", doc: "Their account on this machine: its name, or where the system has none its number."}},
		{name: "sub", required: true, shape: &shape{form: textForm, pattern: patternMail, want: "a name such as ana@corp.example", doc: "Who they are."}},
		{name: "groups", def: "none", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternMail, want: "the name of a group"}, unique: true, want: "a list of groups", doc: "The groups they are in."}},
	}}}},
	{name: "most", def: "no bounds", shape: &shape{form: mapForm, doc: "The most that agents' files may say of what their tools read: beyond it an agent is refused.", keys: []key{
		{name: "trust", def: "any", shape: enum("Trust in what a tool reads.", trustLevels...)},
		{name: "listing", def: "any", shape: enum("Trust in which things there are to read.", trustLevels...)},
		{name: "readers", def: "any", shape: with(whoNames, "Who may be declared to learn what a tool reads, besides the principal.")},
		{name: "meter", def: "any", shape: number(counts, "The bits that one session may tell; an agent that says nothing has these if they are fewer than its own.")},
	}}},
	{name: "state", def: "the user's state folder", shape: filePath("Folder of the journal.")},
	{name: "journal", def: "all is kept, not encrypted", shape: &shape{form: mapForm, doc: "How long runs are kept, and who can read them. When another one begins, those that have ended and are too old or too much are taken out.", keys: []key{
		{name: "keep", def: "for ever", shape: number(durations, "How long runs are kept after their end.")},
		{name: "encrypt", def: "nobody: not encrypted", shape: &shape{form: listForm, item: &shape{form: textForm, pattern: patternAge, want: "an age recipient: age1 and 58 characters"}, some: true, unique: true,
			want: "a list of age recipients", doc: "Age recipients that runs which begin, and what people say to their questions, are encrypted to. Who reads a run needs an identity of one."}},
		{name: "maxSize", def: "any", shape: number(sizes, "How much the journal may hold: beyond it, those runs go first that ended first.")},
	}}},
}}
