package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Export writes events as JSON lines: one event a line, in one form, each line ended.
func Export(w io.Writer, events []Event) error {
	for _, e := range events {
		line, err := exportLine(e)
		if err != nil {
			return fmt.Errorf("journal: event %d of run %s: %w", e.Seq, e.Run, err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// ExportLedger writes lines of a ledger, and the checkpoints over them, as JSON lines: what verifies the events that stand before.
func ExportLedger(w io.Writer, l Ledger) error {
	for _, line := range l.Lines {
		if err := writeLine(w, line); err != nil {
			return err
		}
	}
	for _, c := range l.Checkpoints {
		if err := writeLine(w, c); err != nil {
			return err
		}
	}
	return nil
}

// Proof returns what verifies some runs alone: their lines of the ledger, and for each the last checkpoint that was signed when it
// ended, without the other runs that were under way. A run that has not ended has none.
func Proof(ctx context.Context, s Store, runs ...string) (out Ledger, err error) {
	for _, run := range runs {
		l, err := s.Ledger(ctx, run)
		if err != nil {
			return out, err
		}
		out.Lines = append(out.Lines, l.Lines...)
		if n := len(l.Checkpoints); n > 0 {
			last := l.Checkpoints[n-1]
			last.Heads = nil
			out.Checkpoints = append(out.Checkpoints, last)
		}
	}
	slices.SortFunc(out.Lines, func(a, b Line) int { return cmp.Compare(a.N, b.N) })
	slices.SortFunc(out.Checkpoints, func(a, b Checkpoint) int { return cmp.Compare(a.Line, b.Line) })
	return out, nil
}

// exportLine encodes an event, a line or a checkpoint, without touching an event's payload, of which a digest is in the chain.
func exportLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeLine(w io.Writer, v any) error {
	line, err := exportLine(v)
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}

// Import reads what [Export] and [ExportLedger] wrote, byte for byte: a line that they would have
// written in another way is an error, as is a last line without its end. Import does
// not look at the chain: [AuditCopy] does, and [Verify].
func Import(r io.Reader) (events []Event, ledger Ledger, err error) {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err == io.EOF && len(line) == 0 {
			return events, ledger, nil
		}
		if err == io.EOF {
			return nil, Ledger{}, fmt.Errorf("journal: line %d: cut off", n)
		}
		switch {
		case err != nil:
		case bytes.HasPrefix(line, []byte(`{"line":`)) && len(ledger.Checkpoints) == 0:
			ledger.Lines, err = importLine(ledger.Lines, line)
		case bytes.HasPrefix(line, []byte(`{"checkpoint":`)):
			ledger.Checkpoints, err = importLine(ledger.Checkpoints, line)
		case len(ledger.Lines)+len(ledger.Checkpoints) > 0:
			err = errors.New("not where it stands in an export: events come first, then lines of the ledger, then checkpoints")
		default:
			var e Event
			e, err = importEvent(line)
			events = append(events, e)
		}
		if err != nil {
			return nil, Ledger{}, fmt.Errorf("journal: line %d: %w", n, err)
		}
	}
}

// importLine reads one line of a ledger, or a checkpoint, and puts it behind those that were read.
func importLine[T Line | Checkpoint](read []T, line []byte) ([]T, error) {
	v, err := decodeLine[T](line)
	return append(read, v), err
}

// importEvent reads one event. Its payload, most of the line, is looked at once.
func importEvent(line []byte) (Event, error) {
	// In the text before a payload no quote stands unescaped within a string, and after it there are hex digits only.
	from, to := bytes.Index(line, []byte(`,"payload":`)), bytes.LastIndex(line, []byte(`,"salt":"`))
	from += len(`,"payload":`)
	if from < len(`,"payload":`) || to < from {
		return decodeLine[Event](line)
	}
	payload := bytes.Clone(line[from:to])
	e, err := decodeLine[Event](slices.Concat(line[:from], []byte("null"), line[to:]))
	if err != nil {
		return e, err
	}
	if e.Payload = nil; e.Redacted() && bytes.Equal(payload, []byte("null")) {
		return e, nil
	}
	var same bytes.Buffer
	if err := json.Compact(&same, payload); err != nil {
		return e, err
	}
	if !bytes.Equal(same.Bytes(), payload) {
		return e, errNotExported
	}
	e.Payload = payload
	return e, nil
}

var errNotExported = errors.New("not as it was exported")

// decodeLine reads what exportLine wrote, in the one form in which it did.
func decodeLine[T any](line []byte) (v T, err error) {
	if err := json.Unmarshal(line, &v); err != nil {
		return v, err
	}
	same, err := exportLine(v)
	if err == nil && !bytes.Equal(same, line) {
		err = errNotExported
	}
	return v, err
}

// maxLine is the length of the longest line that Import reads.
const maxLine = MaxPayload + 1<<20

// readLine reads a line with its end; [io.EOF] says that there was none.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}
