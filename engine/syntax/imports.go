package syntax

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// Modules are the modules that a program may import, sorted. An import binds a name to the module, which who runs a tree has to
// define under the name that [Module] gives.
var Modules = []string{"base64", "collections", "copy", "csv", "datetime", "functools", "hashlib", "heapq", "html", "io", "itertools", "json", "math", "re", "statistics", "string", "textwrap"}

// Module returns the name of a module for who runs a tree. No program can spell it.
func Module(name string) string { return "<module " + name + ">" }

// ignored are the modules whose names stand in annotations only.
var ignored = map[string]bool{"typing": true, "__future__": true, "collections.abc": true, "dataclasses": true}

// elsewhere says what there is in place of a module.
var elsewhere = map[string]string{
	"os": "files are reached through tools", "pathlib": "files are reached through tools", "shutil": "files are reached through tools",
	"glob": "files are reached through tools", "tempfile": "files are reached through tools",
	"requests": "what is outside is reached through tools", "urllib": "what is outside is reached through tools", "http": "what is outside is reached through tools",
	"httpx": "what is outside is reached through tools", "socket": "what is outside is reached through tools", "smtplib": "mail is sent by a tool",
	"subprocess": "a program starts no other", "sys": "a program has no process: print, or end with done(value)", "logging": "write print(x)",
	"time": "the time is a tool's to tell", "random": "a program gives the same each time: take a number from a tool or an input", "uuid": "a program gives the same each time: take an id from a tool or an input",
	"numpy": "write loops and comprehensions over lists, sum, min and max; statistics has mean and median", "pandas": "keep rows in lists of dicts; sorted, sum and comprehensions do the rest",
	"asyncio": "every call waits for its result", "threading": "calls are made one after the other", "enum": "write constants", "pprint": "write print(json.dumps(x, indent=2))",
}

// imports parses an import statement, and appends an assignment for each name that it binds.
func (p *parser) imports() {
	if p.tok == syntax.FROM {
		p.importFrom()
		return
	}
	pos := p.next()
	for {
		at := p.i
		module, nested := p.moduleName()
		name := p.newIdent(p.pos(at), module)
		if p.tok == syntax.AS {
			p.next()
			name = p.ident()
		}
		if module == "typing" {
			p.aliases(name.Name)
		}
		if p.available(at, module, nested) {
			p.bindImport(pos, name, p.newIdent(p.pos(at), Module(module)))
		}
		if p.tok != syntax.COMMA {
			break
		}
		p.next()
	}
	p.tall(2)
}

func (p *parser) importFrom() {
	pos := p.next()
	at := p.i
	module, nested := p.moduleName()
	p.expect(syntax.IMPORT)
	ok := p.available(at, module, nested)
	typing := ignored[module] && module != "dataclasses"
	if p.tok == syntax.STAR {
		p.report(p.i, "got an import of everything, want names", "write import "+module+", and "+module+".name")
		p.next()
		return
	}
	parens := p.tok == syntax.LPAREN
	if parens {
		p.next()
	}
	for p.tok != syntax.RPAREN {
		where := p.pos(p.i)
		from := p.ident()
		name := from
		if p.tok == syntax.AS {
			p.next()
			name = p.ident()
		}
		if typing {
			p.aliases(name.Name)
		}
		if ok {
			d := node(&p.dots)
			d.Dot, d.X, d.Name = where, p.newIdent(where, Module(module)), p.newIdent(where, from.Name)
			p.bindImport(pos, name, d)
		}
		if p.tok != syntax.COMMA {
			break
		}
		p.next()
	}
	if parens {
		p.expect(syntax.RPAREN)
	}
	p.tall(3)
}

// aliases notes a name that stands in annotations only.
func (p *parser) aliases(name string) {
	if p.typing == nil {
		p.typing = map[string]bool{}
	}
	p.typing[name] = true
}

func (p *parser) bindImport(pos syntax.Position, name *syntax.Ident, value syntax.Expr) {
	p.extend()
	p.stmts = append(p.stmts, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: name, RHS: value})
}

// moduleName parses the name of a module; nested reports whether it has a point in it.
func (p *parser) moduleName() (name string, nested bool) {
	name = p.ident().Name
	for p.tok == syntax.DOT {
		p.next()
		name += "." + p.ident().Name
		nested = true
	}
	return name, nested
}

// available reports whether a module can be bound. One that does not exist is refused; one for annotations is dropped.
func (p *parser) available(at int, module string, nested bool) bool {
	if ignored[module] {
		p.extend()
		return false
	}
	if !nested && slices.Contains(Modules, module) {
		return true
	}
	top, _, _ := strings.Cut(module, ".")
	hint := "there are " + strings.Join(Modules, ", ")
	if h := elsewhere[top]; h != "" {
		hint = h + "; " + hint
	}
	p.certain(at, "got an import of "+clip(module)+", want a module that there is", hint)
	return false
}
