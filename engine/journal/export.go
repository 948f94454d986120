package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// exportLine encodes an event without touching its payload, of which a digest is in the chain.
func exportLine(e Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Import reads what [Export] wrote, byte for byte: a line that Export would have
// written in another way is an error, as is a last line without its end. Import does
// not look at the chain: [Verify] does.
func Import(r io.Reader) ([]Event, error) {
	var events []Event
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := readLine(in)
		if err == io.EOF && len(line) == 0 {
			return events, nil
		}
		if err == io.EOF {
			return nil, fmt.Errorf("journal: line %d: cut off", n)
		}
		if err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		if bytes.Equal(e.Payload, []byte("null")) && e.Redacted() {
			e.Payload = nil
		}
		same, err := exportLine(e)
		if err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", n, err)
		}
		if !bytes.Equal(same, line) {
			return nil, fmt.Errorf("journal: line %d: not as it was exported", n)
		}
		events = append(events, e)
	}
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
