package model

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxEvent is the most bytes of one event of a stream.
const maxEvent = 2 << 20

// events reads the events of a text/event-stream, and calls each with the data of one until it says that it has enough. The error is that of reading, each's, or
// [io.ErrUnexpectedEOF] if the stream ends before.
func events(r io.Reader, each func(data string) (enough bool, err error)) error {
	in := bufio.NewReader(r)
	var data []string
	size := 0
	for {
		l, err := in.ReadSlice('\n')
		long := []byte(nil)
		for errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, l...); len(long) > maxEvent {
				return longEvent()
			}
			l, err = in.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // what stands after the last whole event is none
		}
		if err != nil {
			return err
		}
		text := strings.TrimRight(string(append(long, l...)), "\r\n")
		switch value, ok := strings.CutPrefix(text, "data:"); {
		case text == "" && data != nil:
			enough, err := each(strings.Join(data, "\n"))
			if enough || err != nil {
				return err
			}
			data, size = nil, 0
		case ok:
			data = append(data, strings.TrimPrefix(value, " "))
			if size += len(value); size > maxEvent {
				return longEvent()
			}
		}
	}
}

func longEvent() error {
	return &Error{Text: fmt.Sprintf("an event of the stream is longer than %d MiB", maxEvent>>20), Hint: "look at model.baseURL: this is no server of models"}
}
