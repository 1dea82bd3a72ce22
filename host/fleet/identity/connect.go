package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// Connect connects to the hub as the identity in a file. A connection that is lost is made again for as long as it
// takes, except where the hub says that it does not know the identity any more. Options stand above those that it needs
// itself.
func Connect(file string, options ...nats.Option) (*nats.Conn, *Identity, error) {
	id, err := Read(file)
	if err != nil {
		return nil, nil, err
	}
	conn, err := id.Connect(options...)
	if err != nil {
		return nil, nil, fmt.Errorf("the identity %s: %w", file, err)
	}
	return conn, id, nil
}

// Connect is like the function [Connect], for an identity that is in no file.
func (id *Identity) Connect(options ...nats.Option) (*nats.Conn, error) {
	plain, err := id.plain()
	if err != nil {
		return nil, err
	}
	all := append(Options(),
		nats.Name(id.Role+" "+id.Name),
		nats.UserJWTAndSeed(id.JWT, id.Seed),
		nats.CustomInboxPrefix(subject.Inbox(id.Name)),
		nats.IgnoreDiscoveredServers(), // where else to send what is said is not for the other end to say
	)
	if !plain {
		config, invalid := id.tls()
		if invalid != nil {
			return nil, invalid
		}
		all = append(all, nats.Secure(config))
	}
	conn, err := nats.Connect(strings.Join(id.URLs, ","), slices.Concat(all, options)...)
	if err != nil {
		return nil, id.Explain(err)
	}
	return conn, nil
}

func (id *Identity) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS13}
	if id.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(id.CA)) {
			return nil, errors.New("its ca is no certificate")
		}
	}
	return config, nil
}

// Explain says what to do about a connection that can't be made, or was closed for good.
func (id *Identity) Explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	at := strings.Join(id.URLs, ", ")
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("who answers at %s is not the hub that has made this identity: %w; if the hub was set up anew, have it "+
			"make a new one", at, err)
	case errors.As(err, &name):
		return fmt.Errorf("the hub at %s does not go by that name: %w; start it with --name", at, err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAuthExpired):
		return fmt.Errorf("the hub at %s does not let %s %s of tenant %s in: %w; it was revoked, or is another hub's; have a new "+
			"one made with `picoclaw hub add`", at, id.Role, id.Name, id.Tenant, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("who answers at %s does not speak TLS: %w", at, err)
	}
	return fmt.Errorf("no hub at %s: %w; is `picoclaw hub` running there, and is its port open?", at, err)
}

// IsUnreached reports whether an error says that a hub, or what it serves, does not answer. It may later, to the same
// identity.
func IsUnreached(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, context.DeadlineExceeded)
}

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
