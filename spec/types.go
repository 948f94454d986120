// Package spec is the language of the files that people write: Agent, Policy,
// Toolset, Scenario and Host documents in YAML, read strictly, with every problem
// reported at once as file:line:col. The written specification and its vectors
// stand beside the code.
package spec

import (
	"strings"
	"time"

	"callgate/engine/label"
)

// APIVersion is the version that every document declares.
const APIVersion = "callgate/v1"

// Position is a place in a file. Lines and columns count from 1; 0 means unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

// Problem is one thing wrong with a file.
type Problem struct {
	Pos  Position
	Text string // what was found and what was wanted
	Hint string // what to do, such as "did you mean …"; may be empty
	Warn bool   // the file can be used all the same
}

// Meta is the metadata of a document.
type Meta struct {
	Name   string
	Labels map[string]string
	Pos    Position // of the document's kind
	Named  Position // of the name; unknown if it has none, or was not read from a file
}

// At returns the place of the name, or else of the document.
func (m Meta) At() Position {
	if m.Named.IsValid() {
		return m.Named
	}
	return m.Pos
}

// Agent declares an agent.
type Agent struct {
	Meta         Meta
	Instructions string
	Model        *Model // nil for an agent that is a program
	Program      string // path of a Starlark file, resolved; "" if there is a model
	Mode         string // react (default with a model), plan, program
	Inputs       []Input
	Tools        []Use
	Returns      any      // JSON Schema of its answer, plain data; nil: anything
	Toolsets     []Ref    // files with Toolset documents, resolved
	Policies     []string // paths of policy files of its own, resolved: these may only deny or ask
	Observe      string   // hide-untrusted (default), reveal, policy
	Limits       Limits
	Isolation    string // none, process, container; "" means what policy says
	Meter        int    // bits that endorsements and refusals may reveal; 0 means 256
	Dir          string // folder of the file
	File         string // path of the file
	Digest       string // "sha256:…" of the file's text
}

// Model says which language model writes the programs.
type Model struct {
	Provider  string // openai, anthropic, recorded
	Name      string
	BaseURL   string // "": the provider's own
	Insecure  bool   // BaseURL may be one of http:// that is not on this machine
	Key       Secret
	Reply     string        // how it writes a program: fenced (default), tool
	MaxTokens int64         // of one reply; 0: the default
	Timeout   time.Duration // of one reply, attempts that fail included; 0: the default
	Price     *Price        // nil: not known
	Recording string        // path of the transcript, resolved, for recorded
	Pos       Position
}

// Price is what a million tokens cost, in billionths of a unit that is the user's business.
type Price struct {
	In, Out         int64
	Cached, Written int64 // of tokens from the provider's cache, and of those put into it; 0: not said
}

// Secret says where a secret is, never what it is.
type Secret struct {
	Env     string
	File    string
	Keyring string // SERVICE/ACCOUNT
	Pos     Position
}

// Input declares a named value that a run is given.
type Input struct {
	Name    string
	Label   label.Label // from trust, readers and tags; trust defaults to untrusted, readers to the principal alone
	Private bool        // readers were left out: Label is for nobody until the principal is known, see [Input.For]
	Default *string     // nil: a run must give it
	Pos     Position
}

// For returns the input's label in a run on behalf of a principal.
func (in *Input) For(principal string) label.Label {
	if !in.Private || principal == "" {
		return in.Label
	}
	return in.Label.WithReaders(label.Only(principal))
}

// Use grants tools: one toolset or tool, an MCP server, or a script. Exactly one of Name, MCP and Script is set.
type Use struct {
	Name    string            // "mail.read", "files"
	Options map[string]Option // everything else written beside "use"
	MCP     *MCP
	Script  string // path, resolved
	Model   *Model // of UseLLM; nil: the agent's own
	Limits  Limits // of UseLLM: of calls, tokens and money
	Agent   string // of UseAgent: path of the agent's file or folder, resolved
	Beneath bool   // only for the agents that this one calls
	Dir     string // folder of the file that grants it: what its paths are seen from
	Pos     Position
}

// The names of tools that are made of what else the agent's file says.
const (
	UseLLM   = "llm"   // llm.ask, a model without tools
	UseAgent = "agent" // another agent, as a tool of its name
)

// useCommand is a program of the machine, as a tool of the name that its setting "name" says.
const useCommand = "command"

// grants is the name of what a use grants that can be granted once alone, and where it stands; "" if the file does not say it.
func (u *Use) grants() (string, Position) {
	switch u.Name {
	case UseAgent:
		return "", u.Pos
	case useCommand:
		name, _ := u.Options["name"].Value.(string)
		return name, u.Options["name"].Pos
	}
	return u.Name, u.Pos
}

// Option is one setting of a tool, with its place.
type Option struct {
	Value any // nil, bool, int, float64, string, []any, map[string]any
	Pos   Position
	Key   Position // of the key
}

// MCP says how to reach an MCP server.
type MCP struct {
	Command []string
	URL     string
	Pin     string
}

// Limits are an agent's budgets; 0 means the default of the engine.
type Limits struct {
	Steps  int64
	Memory int64 // bytes
	Wall   time.Duration
	Calls  int
	Turns  int
	Output int64 // bytes
	Depth  int
	Tokens int64 // of all models of the run, in and out
	Money  int64 // that they may cost, in billionths of the unit of prices
}

// Policy declares rules, and to which calls they are bound.
type Policy struct {
	Meta   Meta
	Match  Match
	Audit  bool           // mode: audit
	Params map[string]any // plain data; files have been read
	Rego   *Rego
	CEL    *CEL
	Own    bool   // an agent's own policy: may only deny or ask
	Dir    string // folder of the file
	File   string // path of the file
}

// Match binds a policy; each list that is not empty must match. Entries are globs, in which
// * stands for any text without a dot… and a lone "*" for everything.
type Match struct {
	Kinds      []string // call kinds
	Tools      []string
	Effects    []string // any of
	Sinks      []string // any of
	Agents     []string
	Principals []string
}

// Rego names the modules and the bundle of a policy.
type Rego struct {
	Modules []Ref   // paths, resolved
	Bundle  Ref     // folder or .tar.gz
	Verify  *Verify // nil: a bundle that is signed is refused, since nothing says by whom
	Pos     Position
}

// Verify says whose signature a bundle must carry, as OPA signs bundles.
type Verify struct {
	Key       string // path of the public key (PEM) or of the shared secret, resolved
	KeyID     string // "" means default
	Algorithm string // "" means RS256
	Scope     string
	Pos       Position
}

// Ref is a path or URL and where it was written.
type Ref struct {
	Path string
	Pos  Position
}

// CEL is the CEL part of a policy.
type CEL struct {
	Match     []Expr // matchConditions: all must hold
	Variables []Expr // each may use those before it, as variables.NAME
	Rules     []Rule
}

// Expr is a named CEL expression.
type Expr struct {
	Name string
	Text string
	Pos  Position // of the text's first character

	written *writing // how the text is written in its file; nil: as it is, line for line
}

// Rule is one CEL rule.
type Rule struct {
	ID          string
	EachLeaf    bool // each: leaf – evaluated for every leaf, as "leaf"
	When        Expr
	Action      string // deny, ask, allow, accept, oblige
	Message     string
	MessageExpr Expr
	Audit       bool
	Args        Expr // list of leaf paths; with each: leaf the leaf's own path
	Approvers   []string
	Count       int
	OtherThan   []string
	TTL         time.Duration
	Obligations []map[string]any // each has a "type"
	Pos         Position

	ObligationsAt []map[string]Position // of the fields of each; "" is the obligation's own; may be nil
}

// Host is callgate.yaml: what the host, not the agent, decides.
type Host struct {
	Meta      Meta
	Policies  []string       // policy files or folders, resolved
	Library   []string       // names of shipped policies to load: "base", …
	Params    map[string]any // for the library's policies
	Principal Principal
	People    []Person // no login twice; none: whoever is at the machine is the principal
	Most      Most
	State     string // state folder, resolved; "" means the user's
	Journal   Journal
	Dir       string
	File      string // path of the file

	// Places says where library and params are written, by path: "library[1]", "params.base.endorse". nil: nowhere.
	Places map[string]Position
}

// At returns the place of a part of library or params, or of what it would be in, or else of the document.
func (h *Host) At(path string) Position {
	for path != "" {
		if at, ok := h.Places[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return h.Meta.Pos
}

// Most bounds what agents' files may say of what their tools read. The zero Most bounds nothing.
type Most struct {
	Trust, Listing string   // a level; "": any
	Readers        []string // besides the principal; nil: any
	Meter          int      // 0: any
}

// Journal is how long runs are kept, and who can read them. The zero Journal keeps them all, not encrypted.
type Journal struct {
	Keep    time.Duration // after their end; 0: for ever
	MaxSize int64         // bytes that the journal may hold; 0: any
	Encrypt []string      // age recipients that runs are encrypted to; none: they are not
}

// Person is who is at the machine with an account of the operating system.
type Person struct {
	Login  string // the account's name, or its number
	Sub    string
	Groups []string
}

// Principal is on whose behalf agents run.
type Principal struct {
	Sub    string
	Groups []string
	Claims map[string]any
}
