package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Version is that of the frames: it changes with whatever is in one. Both sides must have the same.
const Version = 2

// kind says what a frame is.
type kind byte

// The frames, each with who sends it. A worker speaks only when it was spoken to, but for its hello.
const (
	frameHello   kind = iota + 1 // worker: version, language, and what confinement was achieved
	frameStart                   // supervisor: tools, limits, inputs, and a snapshot if the session is re-made
	frameStarted                 // worker: what it has, or what is wrong
	frameRun                     // supervisor: a program and its author
	frameRefuse                  // supervisor: a program that may not start
	frameDo                      // worker: calls of the program that runs
	frameDone                    // supervisor: their results
	frameCancel                  // supervisor: end the program that runs; one that has ended meanwhile takes no notice
	frameLive                    // supervisor: a program that runs again has come to where it goes on; likewise
	frameEnded                   // worker: the outcome
	frameGet                     // supervisor: the value of a name
	frameValue                   // worker: it, or that there is none
	frameSnap                    // supervisor: the session as bytes, please
	frameBlob                    // worker: they, or what is wrong
	frameBye                     // supervisor: there is nothing more
	frameKinds
)

var kindNames = [frameKinds]string{"", "hello", "start", "started", "run", "refuse", "do", "done", "cancel", "live", "ended", "get", "value", "snapshot", "blob", "bye"}

func (k kind) String() string {
	if k == 0 || k >= frameKinds {
		return fmt.Sprintf("frame %d", byte(k))
	}
	return kindNames[k]
}

// headerSize is that of a frame's length, big-endian, and its kind. The length is that of the body.
const headerSize = 5

// maxHello bounds the first frame of each side, before limits are known.
const maxHello = 64 << 10

// errTooLarge is what send returns of a frame that the other side would refuse; nothing was sent.
var errTooLarge = errors.New("the frame is larger than its limit")

// conn reads and writes frames. Reading and writing may go on at once; each in one goroutine at a time, but
// that several may write.
type conn struct {
	w     io.Writer
	r     *bufio.Reader
	max   int   // bytes of a body that is read
	most  int   // bytes of one that is written
	room  int64 // bytes of memory that reading a body may take
	cache labelCache

	mu  sync.Mutex // guards writing
	enc encoder
	in  []byte // room for a body
	hd  [headerSize]byte
}

func newConn(rw io.ReadWriter) *conn {
	return &conn{w: rw, r: bufio.NewReaderSize(rw, 8<<10), max: maxHello, most: maxHello, room: 4 * maxHello}
}

// send writes a frame whose body write writes.
func (c *conn) send(k kind, write func(*encoder)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enc.reset()
	write(&c.enc)
	if len(c.enc.b)+len(c.enc.stored) > c.most-binary.MaxVarintLen64 {
		c.enc = encoder{}
		return errTooLarge
	}
	out := c.enc.body(headerSize)
	if cap(c.enc.b) > maxKept {
		c.enc = encoder{}
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-headerSize))
	out[4] = byte(k)
	_, err := c.w.Write(out)
	return err
}

// maxKept bounds the buffers that are kept from one frame to the next.
const maxKept = 64 << 10

// receive reads a frame, whose decoder holds until the next is read. An error other than of
// reading is a [*ProtocolError].
func (c *conn) receive() (kind, *decoder, error) {
	if _, err := io.ReadFull(c.r, c.hd[:]); err != nil {
		return 0, nil, err
	}
	k := kind(c.hd[4])
	n := binary.BigEndian.Uint32(c.hd[:])
	if k == 0 || k >= frameKinds {
		return k, nil, &ProtocolError{k.String() + ": there is no such frame"}
	}
	if int64(n) > int64(c.max) {
		return k, nil, &ProtocolError{fmt.Sprintf("%s: %d bytes, the limit is %d", k, n, c.max)}
	}
	b, err := c.read(int(n))
	if err != nil {
		return k, nil, err
	}
	return k, newDecoder(b, c.room, &c.cache), nil
}

// read reads n bytes. Memory is taken as they come, not as they are announced.
func (c *conn) read(n int) ([]byte, error) {
	if n <= cap(c.in) {
		b := c.in[:n]
		_, err := io.ReadFull(c.r, b)
		return b, err
	}
	b := make([]byte, 0, min(n, maxKept))
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		m, err := io.ReadFull(c.r, b[len(b):min(cap(b), n)])
		b = b[:len(b)+m]
		if err != nil {
			return nil, err
		}
	}
	if cap(b) <= maxKept {
		c.in = b
	}
	return b, nil
}

// ProtocolError says what one side of a worker's connection did that the other does not accept. It holds no data of programs.
type ProtocolError struct{ Text string }

func (e *ProtocolError) Error() string { return "worker: " + e.Text }
