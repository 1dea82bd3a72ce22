package identity

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

const (
	connectTimeout = 5 * time.Second
	reconnectWait  = 250 * time.Millisecond // and as much again at most, so that not all come at once
	pingInterval   = 2 * time.Second        // a server that is silent for two of them is looked for again
	writeTimeout   = 10 * time.Second       // for a whole message, on a connection that takes none of it
)

// Dial connects to a NATS that is no hub's, at an address: several are separated by commas. credentials is a file of
// NATS's, if any. What leaves this machine is encrypted: a plain address is taken for a loopback one only.
func Dial(address, name, credentials string) (*nats.Conn, error) {
	if address == "" {
		return nil, errors.New("no fleet is named: --fleet or fleet.url says where its NATS is")
	}
	o := append(Options(), nats.Name(name), nats.CustomInboxPrefix(subject.Inbox(name)))
	if credentials != "" {
		o = append(o, nats.UserCredentials(credentials))
	}
	for one := range strings.SplitSeq(address, ",") {
		plain, err := checkAddress(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		if plain { // of others that the server tells of, nobody knows whether they are of this machine
			o = append(o, nats.IgnoreDiscoveredServers())
		}
	}
	conn, err := nats.Connect(address, o...)
	if err != nil {
		return nil, fmt.Errorf("connect to the fleet at %s: %w", address, err)
	}
	return conn, nil
}

// Options are those that every connection of a fleet needs, whoever makes it. Nothing is kept for later while the
// connection is lost: what was true when it was said may not be when it arrives.
func Options() []nats.Option {
	return []nats.Option{nats.Timeout(connectTimeout), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.ReconnectBufSize(-1),
		// In place of printing: what is lost is asked for again.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		// Who writes into a connection that takes nothing, with locks in hand, does not wait for a minute.
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(writeTimeout)}
}

// checkAddress reports whether an address is a plain one, which has to be of this machine.
func checkAddress(address string) (plain bool, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false, fmt.Errorf("%q is no address of NATS, such as tls://nats.example.com:4222", address)
	}
	switch u.Scheme {
	case "tls", "wss":
		return false, nil
	case "nats", "ws":
		if Loopback(u.Hostname()) {
			return true, nil
		}
		return false, fmt.Errorf("%s is not encrypted and not of this machine; use tls://%s", address, u.Host)
	}
	return false, fmt.Errorf("%q is no address of NATS: it begins with tls://, or on this machine with nats://", address)
}
