package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// acceptTransparentConns accepts and serves connections to loopback and to addresses that the DNS server has assigned.
func (p *Proxy) acceptTransparentConns(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			if p.addToWaitGroup() {
				go func() {
					defer p.wg.Done()
					p.serveTransparentConn(conn.(*clientConn))
				}()
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		select { // for example, too many open files
		case <-p.ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serveTransparentConn serves a connection of a client that does not use the proxy protocol. The local address
// identifies the target: an assigned address, or loopback for this machine.
func (p *Proxy) serveTransparentConn(c *clientConn) {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		_ = c.Close()
		return
	}
	t := target{addr: local.Addr().Unmap(), port: local.Port()}
	if name, ok := p.dns.nameOfAddr(t.addr); ok {
		t = target{name: name, port: t.port}
	} else if t.isLoopback() {
		if named := (target{name: localhost, port: t.port}); p.Policy.decideTarget(named).Rule != "" ||
			p.Policy.decideTarget(t).Rule == "" {
			t = named
		}
	} else if p.dns.addresses.Contains(t.addr) {
		p.refuseConn(&boundClientConn{clientConn: c, target: t},
			newRefusalError("network: refused %s, which is assigned to no name; resolve the name again", t))
		return
	}
	d, refused := p.decideOrAsk(p.ctx, t)
	b := &boundClientConn{clientConn: c, target: t, decision: d}
	if refused != nil {
		p.refuseConn(b, refused)
		return
	}
	outside, err := p.dialUnlessTerminatingTLS(p.ctx, t)
	switch {
	case errors.As(err, &refused):
		p.refuseConn(b, refused)
	case err != nil:
		p.reportConn(b, time.Now(), 0, 0, err)
		_ = c.Close()
	case outside != nil && t.isLoopback(): // any protocol
		p.relayTunnel(b, outside, time.Now())
	default:
		p.serveAllowedConn(b, outside)
	}
}

// refuseConn reports a refused connection. Once the client has sent data, it answers in the client's protocol.
func (p *Proxy) refuseConn(b *boundClientConn, refused *refusalError) {
	p.reportRefusal(b.target, "", refused.Decision)
	defer closeConns(b)
	_ = b.SetDeadline(time.Now().Add(setupTimeout))
	o, err := readClientPreamble(b)
	if err == nil {
		p.writeRefusal(b, o, refused)
	}
}

// writeRefusal sends a refusal to a client, as a TLS alert or an HTTP response.
func (p *Proxy) writeRefusal(b *boundClientConn, o clientPreamble, refused *refusalError) {
	if o.isTLS {
		_, _ = b.Write(unrecognizedNameAlert[:])
		return
	}
	_, _ = fmt.Fprintf(b, "HTTP/1.1 403 Forbidden\r\n%s: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s\n", errorHeader, refused.errorCode, len(refused.Reason)+1, refused.Reason)
	_ = b.CloseWrite()
}

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
