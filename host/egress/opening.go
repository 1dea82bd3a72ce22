package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// opening is what a client says first on a connection.
type opening struct {
	secure bool   // TLS, otherwise HTTP
	name   string // the server that TLS asks for, as written
	head   []byte // what has been read
}

var errOpening = errors.New("it begins with neither TLS nor HTTP")

// readOpening reads as much as tells what a connection is for. The bytes are returned with an error too.
func readOpening(r io.Reader) (o opening, err error) {
	var head bytes.Buffer
	tee := io.TeeReader(r, &head)
	defer func() { o.head = head.Bytes() }()

	first := make([]byte, 1)
	if _, err := io.ReadFull(tee, first); err != nil {
		return o, err
	}
	if first[0] == 0x16 { // a record of a handshake
		o.secure = true
		o.name, err = readHello(io.MultiReader(bytes.NewReader(first), tee))
		return o, err
	}
	var method []byte // in capitals, as all registered ones are
	for first[0] != ' ' {
		if method = append(method, first[0]); first[0] < 'A' || first[0] > 'Z' || len(method) > 20 {
			return o, errOpening
		}
		if _, err := io.ReadFull(tee, first); err != nil {
			return o, err
		}
	}
	if len(method) == 0 || string(method) == "PRI" { // HTTP/2 without TLS
		return o, errOpening
	}
	return o, nil
}

// readHello reads the first message of a TLS client, and returns the name of the server in it.
func readHello(r io.Reader) (string, error) {
	var name string
	seen := errors.New("seen")
	err := tls.Server(deaf{r}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, seen
		},
	}).Handshake()
	if errors.Is(err, seen) {
		return name, nil
	}
	return "", err
}

// deaf is a connection that is only read.
type deaf struct{ io.Reader }

func (deaf) Write(b []byte) (int, error)      { return len(b), nil }
func (deaf) Close() error                     { return nil }
func (deaf) LocalAddr() net.Addr              { return nil }
func (deaf) RemoteAddr() net.Addr             { return nil }
func (deaf) SetDeadline(time.Time) error      { return nil }
func (deaf) SetReadDeadline(time.Time) error  { return nil }
func (deaf) SetWriteDeadline(time.Time) error { return nil }

// unrecognized is the alert of TLS for a server by a name that isn't known here.
var unrecognized = [...]byte{21, 3, 3, 0, 2, 2, 112}

// matches reports whether TLS asks for the server that the connection is to: by its name, and for an address by none.
func (o opening) matches(t target) bool {
	if t.name == "" {
		return o.name == ""
	}
	asked, err := parseHost(o.name, t.port)
	return err == nil && asked == t
}
