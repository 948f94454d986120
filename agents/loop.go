package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"callgate/agents/model"
	"callgate/engine"
	"callgate/engine/eval"
	"callgate/engine/journal"
	"callgate/engine/label"
)

const (
	defaultTurns  = 10        // how many programs a model writes at most, unless the agent says otherwise
	defaultTokens = 1_000_000 // how many tokens the models of a run may use, unless the agent says otherwise
	sameFailure   = 3         // how often a model may write the same failing program before the run ends
	noProgram     = 3         // how many replies without a program, one after the other, end the run
)

// Progress is how far the reply has come that the run waits for.
type Progress struct {
	Run  string
	Turn int
	model.Progress
	Label label.Label // of the text: the join of all that the model was shown
	Spent model.Spent // by all models of the run, before this reply
}

// purse is what the models of a run may use: within the purse of the run that this one is a part of, if there is one.
func (a *Agent) purse(ctx context.Context) *wallet {
	b := model.Budget{Tokens: a.Spec.Limits.Tokens, Money: model.Money(a.Spec.Limits.Money)}
	if b.Tokens == 0 {
		b.Tokens = defaultTokens
	}
	return &wallet{Purse: model.PurseOf(ctx).Child(b), asked: newTally(tallyOf(ctx)), waits: &waits{}, store: a.store(ctx)}
}

// spentOf is what a journal says that models used.
func spentOf(s journal.Spent) model.Spent {
	return model.Spent{Usage: model.Usage{In: s.Tokens[0], Out: s.Tokens[1], Cached: s.Cached}, Cost: model.Money(s.Cost), Calls: s.Calls}
}

// loop lets the model write programs until one answers.
func (r *run) loop(ctx context.Context, inputs []journal.Input) error {
	a := r.agent
	request := model.Request{System: a.prompt(), Style: a.style(), Messages: slices.Clone(r.talk)}
	defer func() { r.talk = request.Messages }()
	say := func(text string) { request.Messages = say(request.Messages, text) }
	before := r.session.Turns()
	r.inPlay = a.inPlay(inputs, before)
	say(opening(inputs, before))
	turns := a.turns()
	failures, without := map[string]int{}, 0
	for turn := before + 1; turn <= before+turns; turn++ {
		if r.session.Spent() {
			r.out.Status, r.out.Reason = engine.Budget, "the steps that were left to it are used up"
			return nil
		}
		author := r.session.Gate().Context().WithSources(label.Source{Tool: "model", Of: fmt.Sprintf("turn %d", turn)})
		reply, err := r.reply(ctx, turn, author, request)
		if err != nil {
			if cannot := r.session.Err(); cannot != nil {
				return err
			}
			r.out.Status, r.out.Reason, r.out.Model = engine.Failed, err.Error(), err
			if failed, ok := errors.AsType[*model.Error](err); ok && author.HasTag(journal.SecretTag) {
				r.out.Reason = failed.Public() // what the server says may be what the model was shown
			}
			if _, spent := errors.AsType[*model.BudgetError](err); spent {
				r.out.Status = engine.Budget
			}
			if ended, again := errors.AsType[*engine.EndedError](err); again {
				r.out.Status = ended.Status
			}
			return nil
		}
		request.Messages = append(request.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls})
		text, err := programIn(request.Style, reply)
		if err != nil {
			r.out.Status, r.out.Reason = engine.Failed, "the model wrote no program that can be run: "+err.Error()
			if without++; without == noProgram {
				r.out.Reason = fmt.Sprintf("the model answered %d times without a program that can be run: %v", noProgram, err)
				return nil
			}
			say(fmt.Sprintf("Nothing was run: %v. %s", err, wanted(request.Style)))
			continue
		}
		without = 0
		out, err := r.session.Exec(ctx, engine.Program{File: fileOf(turn), Text: text, Author: author})
		if err != nil {
			return err
		}
		r.ended(out)
		switch out.Status {
		case eval.Answered, eval.Waiting, eval.Cancelled, eval.Crashed:
			return nil
		case eval.OK:
		default:
			same := gist(text)
			failures[same]++
			if failures[same] == sameFailure {
				r.out.Reason = fmt.Sprintf("the model wrote the same failing program %d times: %s", sameFailure, r.out.Reason)
				return nil
			}
		}
		feedback, err := r.feedback(ctx, turn, text, out)
		if err != nil {
			if refused, ok := errors.AsType[*eval.CallError](err); ok && refused.Wait {
				r.out.Status, r.out.Reason = engine.Waiting, refused.Code
				return nil
			}
			return err
		}
		say(feedback)
	}
	if r.out.Status == engine.Done {
		r.out.Status = engine.Budget
		r.out.Reason = fmt.Sprintf("%d turns used up without done(value)", turns)
	}
	return nil
}

// turns is how many programs a model may write.
func (a *Agent) turns() int {
	if n := a.Spec.Limits.Turns; n > 0 {
		return n
	}
	return defaultTurns
}

// reply asks the model for its next reply, or takes it from the journal; either is paid from the run's purse.
func (r *run) reply(ctx context.Context, turn int, author label.Label, request model.Request) (model.Reply, error) {
	m, spent := r.agent.model, r.purse.Spent()
	if told := r.agent.opts.Progress; told != nil {
		request.Progress = func(p model.Progress) {
			told(Progress{Run: r.session.ID(), Turn: turn, Progress: p, Label: author, Spent: spent})
		}
	}
	live := false
	was, err := r.session.Reply(ctx, author, func(ctx context.Context) (journal.ModelReplied, error) {
		live = true
		reply, err := r.purse.Wrap(m).Generate(ctx, request)
		if err == nil && r.recording != nil {
			if author.HasTag(journal.SecretTag) {
				r.recording.Withhold("the model was shown what is secret")
			} else {
				reply = reply.Written()
				r.recording.Turn(request.Messages[len(request.Messages)-1].Text, reply)
			}
		}
		out := journal.ModelReplied{
			Provider: m.Provider(), Model: m.Name(), Text: reply.Text, Stop: reply.Stop,
			Tokens: [2]int64{reply.Usage.In, reply.Usage.Out}, Cached: reply.Usage.Cached, Cost: int64(reply.Cost),
		}
		for _, c := range reply.Calls {
			out.Calls = append(out.Calls, journal.ModelCall(c))
		}
		return out, err
	})
	if err != nil {
		return model.Reply{}, err
	}
	if !live {
		r.purse.Charge(spentOf(journal.Spent{Tokens: was.Tokens, Cached: was.Cached, Cost: was.Cost, Calls: 1}))
	}
	reply := model.Reply{Text: was.Text, Stop: was.Stop}
	for _, c := range was.Calls {
		reply.Calls = append(reply.Calls, model.Call(c))
	}
	return reply, nil
}

// record begins the recording of a run; nil if there is to be none.
func (a *Agent) record(o RunOptions) (*model.Recording, error) {
	switch {
	case a.opts.Record == "":
		return nil, nil
	case a.model == nil:
		return nil, &InputError{[]string{"the agent has no model to record: a person wrote its program"}}
	case o.After != "":
		return nil, &InputError{[]string{"a run that goes on from another cannot be recorded: its conversation began in that one"}}
	}
	about := fmt.Sprintf("What %s/%s answered for the agent %s.", a.model.Provider(), a.model.Name(), a.Spec.Meta.Name)
	return model.Record(a.opts.Record, about, a.style(), a.prompt())
}

// style is how the agent's model writes programs.
func (a *Agent) style() model.Style {
	if r, ok := a.model.(*model.Recorded); ok {
		return r.Style()
	}
	if a.Spec.Model != nil && a.Spec.Model.Reply == model.Tool.String() {
		return model.Tool
	}
	return model.Fenced
}

// fileOf names the program of a turn.
func fileOf(turn int) string { return fmt.Sprintf("turn%d.star", turn) }

// wanted says to the model how to write a program.
func wanted(s model.Style) string {
	if s == model.Tool {
		return fmt.Sprintf("Answer with one call of %s(%s); end with done(value).", model.RunTool, model.RunProgram)
	}
	return "Answer with one fenced block of Starlark; end with done(value)."
}

// programIn returns the one program in a model's reply. The error says to the model, and to people, why there is none to run. It holds nothing of the reply.
func programIn(style model.Style, reply model.Reply) (string, error) {
	if reply.Stop != "" {
		return "", errors.New("the reply was cut where it had as many tokens as it may have")
	}
	if style == model.Fenced {
		if len(reply.Calls) > 0 {
			return "", errors.New("there are no tools to call in a reply: programs are written as fenced blocks")
		}
		return fencedIn(reply.Text)
	}
	switch n := len(reply.Calls); {
	case n == 0:
		return "", fmt.Errorf("there was no call of %s in the reply", model.RunTool)
	case n > 1:
		return "", fmt.Errorf("there were %d calls in the reply, and one is made a turn", n)
	}
	return reply.Calls[0].Program()
}

// fencedIn returns the one fenced block of a text that is marked as Starlark or Python, or not marked.
func fencedIn(text string) (string, error) {
	var lines []string
	fence, keep, found := "", false, 0
	for line := range strings.SplitSeq(text, "\n") {
		t := strings.TrimLeft(line, " ")
		marks := t[:len(t)-len(strings.TrimLeft(t, "`"))]
		switch {
		case fence == "" && len(marks) >= 3:
			fence = marks
			switch strings.ToLower(strings.TrimSpace(t[len(marks):])) {
			case "", "starlark", "python", "py", "python3", "star":
				keep = true
				found++
			default:
				keep = false
			}
		case fence != "" && strings.TrimSpace(line) == fence:
			fence = ""
		case fence != "" && keep:
			lines = append(lines, line)
		}
	}
	switch {
	case found == 0:
		return "", errors.New("there was no program in the reply")
	case found > 1:
		return "", fmt.Errorf("there were %d programs in the reply, and one is run a turn", found)
	case fence != "" && keep:
		return "", errors.New("the program's block was not closed")
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// gist is a program without what changes nothing: comments, blank lines, and blanks within and after lines. Programs of one gist are the same.
func gist(text string) string {
	var b strings.Builder
	blank, begun := "", false // before the next character; whether the line has one
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(text)
			}
		case '\n':
			if begun {
				b.WriteByte('\n')
			}
			blank, begun = "", false
			i++
		case ' ', '\t', '\r':
			if begun {
				blank = " "
			} else {
				blank += string(c)
			}
			i++
		default:
			if !begun {
				b.WriteString(blank)
			} else if blank != "" && b.Len() > 0 && isWord(text[i]) && isWord(b.String()[b.Len()-1]) {
				b.WriteByte(' ')
			}
			n := 1
			if c == '"' || c == '\'' {
				n = quotedLen(text[i:])
			}
			b.WriteString(text[i : i+n])
			blank, begun = "", true
			i += n
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// quotedLen is the length of the text literal at the beginning of s, or of all of s if it does not end.
func quotedLen(s string) int {
	mark := s[:1]
	if strings.HasPrefix(s, strings.Repeat(mark, 3)) {
		mark = s[:3]
	}
	for i := len(mark); i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], mark):
			return i + len(mark)
		case s[i] == '\n' && len(mark) == 1:
			return i // it is not closed
		}
	}
	return len(s)
}
