// Package identity is who a machine is in a fleet: one file carries the hub's addresses and certificate authority, the
// tenant, the name, and the key that proves it. The hub writes such files; [Connect] uses one.
//
// A file is as good as the machine that it is for, so one that others can read is refused, and nothing is sent
// unencrypted to another machine. The package must not know what is said over the connection, nor what the key is
// allowed to: the hub decides that, and has signed it.
package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"slices"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// The roles.
const (
	Worker  = "worker"  // serves the workspaces of its agents
	Gateway = "gateway" // asks them
	Admin   = "admin"   // keeps the tenant: configuration, buckets
)

// Roles are all of them.
func Roles() []string { return []string{Worker, Gateway, Admin} }

// Identity is who a machine is.
type Identity struct {
	Name   string   `json:"name"`
	Role   string   `json:"role"`
	Tenant string   `json:"tenant"`
	Agents []string `json:"agents,omitempty"` // of a worker: those that it may serve
	URLs   []string `json:"urls"`             // of the hub
	CA     string   `json:"ca,omitempty"`     // PEM; without it the machine's own authorities count
	JWT    string   `json:"jwt"`
	Seed   string   `json:"seed"` // the secret
}

const maxFile = 1 << 20

// Read reads an identity, and refuses a file that others can read.
func Read(file string) (*Identity, error) {
	id, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("the identity %s: %w", file, err)
	}
	return id, nil
}

func read(file string) (*Identity, error) {
	data, err := smallfile.ReadPrivate(file, maxFile, "revoke it on the hub if somebody may have read it")
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return nil, fmt.Errorf("%w; the hub's operator makes one with `picoclaw hub add`", at.Err)
	}
	if err != nil {
		return nil, err
	}
	id, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w; put back a copy, or revoke it on the hub and make another with `picoclaw hub add`", err)
	}
	return id, nil
}

func parse(data []byte) (*Identity, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	id := &Identity{}
	if err := decoder.Decode(id); err != nil {
		return nil, fmt.Errorf("it is not what `picoclaw hub add` has written: %w", err)
	}
	switch {
	case id.Name == "" || id.Tenant == "" || len(id.URLs) == 0:
		return nil, errors.New("it has no name, tenant or urls")
	case !slices.Contains(Roles(), id.Role):
		return nil, fmt.Errorf("the role %q is not known", id.Role)
	}
	key, err := nkeys.FromSeed([]byte(id.Seed))
	if err != nil {
		return nil, fmt.Errorf("its seed is no key: %w", err)
	}
	defer key.Wipe()
	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}
	claims, err := jwt.DecodeUserClaims(id.JWT)
	if err != nil {
		return nil, fmt.Errorf("its jwt can't be read: %w", err)
	}
	if claims.Subject != public {
		return nil, errors.New("its jwt is of another key than its seed: it was put together from two")
	}
	_, err = id.plain()
	return id, err
}

// plain reports whether the connection is not to be encrypted, which is for this machine alone.
func (id *Identity) plain() (bool, error) {
	all := true
	for _, text := range id.URLs {
		at, err := url.Parse(text)
		if err != nil || at.Hostname() == "" || at.Scheme != "tls" && at.Scheme != "nats" {
			return false, fmt.Errorf("%q is not an address such as tls://hub.example:4222", text)
		}
		if at.Scheme == "nats" && !Loopback(at.Hostname()) {
			return false, fmt.Errorf("%s is another machine, and nothing would be encrypted on the way; have it serve TLS, "+
				"and write tls://%s", text, at.Host)
		}
		all = all && at.Scheme == "nats" && id.CA == ""
	}
	return all, nil
}

// Loopback reports whether a host is this machine alone.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Create makes the new file that an identity will be written to, for its owner alone.
func Create(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Keep writes an identity to its file, and closes it.
func (id *Identity) Keep(f *os.File) error {
	data, err := json.MarshalIndent(id, "", "  ")
	if err == nil {
		_, err = f.Write(append(data, '\n'))
	}
	return errors.Join(err, f.Sync(), f.Close())
}
