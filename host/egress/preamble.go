package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// clientPreamble is the first data of a client on a connection, with the protocol and server name in it.
type clientPreamble struct {
	isTLS      bool   // TLS, otherwise HTTP
	serverName string // server name in TLS, as sent
	head       []byte // all data read
}

var errUnknownProtocol = errors.New("it begins with neither TLS nor HTTP")

// readClientPreamble reads a connection until the protocol and server name are known. It returns the data read even
// with an error.
func readClientPreamble(r io.Reader) (o clientPreamble, err error) {
	var head bytes.Buffer
	tee := io.TeeReader(r, &head)
	defer func() { o.head = head.Bytes() }()

	first := make([]byte, 1)
	if _, err = io.ReadFull(tee, first); err != nil {
		return o, err
	}
	if first[0] == 0x16 { // a handshake record
		o.isTLS = true
		o.serverName, err = readServerName(io.MultiReader(bytes.NewReader(first), tee))
		return o, err
	}
	var method []byte // registered methods are in capitals
	for first[0] != ' ' {
		if method = append(method, first[0]); first[0] < 'A' || first[0] > 'Z' || len(method) > 20 {
			return o, errUnknownProtocol
		}
		if _, err := io.ReadFull(tee, first); err != nil {
			return o, err
		}
	}
	if len(method) == 0 || string(method) == "PRI" { // HTTP/2 preface without TLS
		return o, errUnknownProtocol
	}
	return o, nil
}

func readServerName(r io.Reader) (string, error) {
	var name string
	errDone := errors.New("seen")
	err := tls.Server(readOnlyConn{r}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errDone
		},
	}).Handshake()
	if errors.Is(err, errDone) {
		return name, nil
	}
	return "", err
}

// readOnlyConn is a net.Conn that reads from a reader and discards writes.
type readOnlyConn struct{ io.Reader }

func (readOnlyConn) Write(b []byte) (int, error)      { return len(b), nil }
func (readOnlyConn) Close() error                     { return nil }
func (readOnlyConn) LocalAddr() net.Addr              { return nil }
func (readOnlyConn) RemoteAddr() net.Addr             { return nil }
func (readOnlyConn) SetDeadline(time.Time) error      { return nil }
func (readOnlyConn) SetReadDeadline(time.Time) error  { return nil }
func (readOnlyConn) SetWriteDeadline(time.Time) error { return nil }

// unrecognizedNameAlert is the TLS alert unrecognized_name.
var unrecognizedNameAlert = [...]byte{21, 3, 3, 0, 2, 2, 112}

// serverNameMatches reports whether the TLS server name is the name of the target. If the target is an address, TLS
// must send no name.
func (o clientPreamble) serverNameMatches(t target) bool {
	if t.name == "" {
		return o.serverName == ""
	}
	named, err := parseHost(o.serverName, t.port)
	return err == nil && named == t
}
