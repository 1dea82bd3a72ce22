package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

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
