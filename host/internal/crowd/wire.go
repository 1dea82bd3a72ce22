package crowd

import (
	"bytes"
	"net"
	"strconv"
	"strings"
)

// dialer makes connections that are listened to.
type dialer struct {
	dial func() (net.Conn, error)
	hear func(subject string)
}

// InProcessConn is what the NATS client asks for in place of an address.
func (d dialer) InProcessConn() (net.Conn, error) {
	conn, err := d.dial()
	if err != nil || d.hear == nil {
		return conn, err
	}
	return &wire{Conn: conn, hear: d.hear}, nil
}

// wire is a connection whose messages' subjects are heard, as the server sends them: before the client chooses whom to
// give them to.
type wire struct {
	net.Conn
	hear func(subject string)
	line []byte // what there is of one
	skip int    // bytes of a message's body that are still to come
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.listen(p[:n])
	return n, err
}

func (w *wire) listen(data []byte) {
	for len(data) > 0 {
		if w.skip > 0 {
			n := min(w.skip, len(data))
			data, w.skip = data[n:], w.skip-n
			continue
		}
		head, rest, whole := bytes.Cut(data, []byte("\n"))
		w.line, data = append(w.line, head...), rest
		if !whole {
			return
		}
		words := strings.Fields(string(w.line))
		w.line = w.line[:0]
		if len(words) >= 4 && (words[0] == "MSG" || words[0] == "HMSG") {
			w.hear(words[1])
			size, _ := strconv.Atoi(words[len(words)-1]) // of what NATS has written
			w.skip = size + len("\r\n")
		}
	}
}
