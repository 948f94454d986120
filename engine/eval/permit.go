package eval

import (
	"slices"

	"callgate/engine/label"
	"callgate/engine/value"
)

// Every call of a builtin is decided by policy, on the builtin's name and the labels in
// play. A session remembers what was permitted for each builtin and label class; what was refused is asked
// again, so that every refusal reaches the journal.
type permits struct {
	last []label.ClassID // by builtin, ways of them each: 1 + the class permitted last
	more map[permitKey]struct{}
	used []int64 // calls permitted, by builtin
}

// ways is how many classes are found at once for each builtin: a program has few, in turn. A power of two.
const ways = 4

type permitKey struct {
	builtin int
	class   label.ClassID
}

func (p *permits) forget() {
	clear(p.last)
	clear(p.more)
}

// permitLabel asks whether a builtin may read data labelled l. A builtin that reads
// deeper than references and structures asks again with what it read.
func (t *thread) permitLabel(def *builtinDef, l label.ID) {
	p := &t.s.permits
	class := l.Class() + 1
	if p.last[def.index*ways+int(class%ways)] == class {
		p.used[def.index]++
		return
	}
	t.permitSlow(def, l, class)
}

func (t *thread) permitSlow(def *builtinDef, l label.ID, class label.ClassID) {
	p := &t.s.permits
	key := permitKey{def.index, class}
	if _, ok := p.more[key]; !ok {
		if err := t.cross(Call{
			Kind: KindBuiltin, Tool: decided[def.index],
			Args: []Arg{{"args", value.NoneOf(t.tab.Label(l).WithoutSources())}},
		}).Err; err != nil {
			panic(t.refused(err, l))
		}
		if p.more == nil {
			p.more = map[permitKey]struct{}{}
		}
		p.more[key] = struct{}{}
	}
	p.last[def.index*ways+int(class%ways)] = class
	p.used[def.index]++
}

// Builtin reports whether there is a builtin of this name that policies decide on: the tool of a call of [KindBuiltin].
func Builtin(name string) bool { return name != "" && slices.Contains(decided, name) }
