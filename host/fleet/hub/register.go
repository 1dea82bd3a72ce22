package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// Register is who was let in.
type Register struct {
	Listen  string             `json:"listen"`          // host and port
	Names   []string           `json:"names,omitempty"` // host names and addresses by which other machines reach it
	Tenants map[string]*Tenant `json:"tenants"`
}

// Tenant is a part of a fleet that knows nothing of the others.
type Tenant struct {
	Identities []Identity `json:"identities,omitempty"`
}

// Identity is a machine that was let in.
type Identity struct {
	Name    string     `json:"name"`
	Role    string     `json:"role"`
	Agents  []string   `json:"agents,omitempty"`
	Key     string     `json:"key"` // public
	Added   time.Time  `json:"added"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

// DefaultTenant is the tenant where none is named.
const DefaultTenant = "main"

// find returns the identity that goes by a name now; nil for none.
func (t *Tenant) find(name string) *Identity {
	i := slices.IndexFunc(t.Identities, func(id Identity) bool { return id.Name == name && id.Revoked == nil })
	if i < 0 {
		return nil
	}
	return &t.Identities[i]
}

// workers are the names of the workers that are let in.
func (t *Tenant) workers() (names []string) {
	for _, id := range t.Identities {
		if id.Role == identity.Worker && id.Revoked == nil {
			names = append(names, id.Name)
		}
	}
	return names
}

func checkName(what, name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`).MatchString(name) {
		return fmt.Errorf("the %s %q: want up to 63 of letters, digits, - and _", what, name)
	}
	return nil
}

// checkAgents checks what becomes part of the subjects that a worker may use.
func checkAgents(ids []string) error {
	for i, id := range ids {
		if !config.IsValidID(id) {
			return fmt.Errorf("%q is not an agent's id: small letters, digits, _ and -, a letter or digit first, at most 64", id)
		}
		if slices.Contains(ids[:i], id) {
			return fmt.Errorf("agent %s is named twice", id)
		}
	}
	return nil
}

// Read returns who was let in by the hub in a directory, and writes nothing there.
func Read(dir string) (*Register, error) { return (&Hub{dir: dir}).Register() }

// Register returns who was let in.
func (h *Hub) Register() (*Register, error) {
	data, err := smallfile.Read(h.path("register.json"), 64<<20)
	if errors.Is(err, fs.ErrNotExist) && h.isNew() {
		return &Register{Listen: DefaultListen, Tenants: map[string]*Tenant{DefaultTenant: {}}}, nil
	}
	if err != nil {
		return nil, h.damaged(err)
	}
	r := &Register{}
	err = json.Unmarshal(data, r)
	if err == nil && (r.Tenants[DefaultTenant] == nil || slices.Contains(slices.Collect(maps.Values(r.Tenants)), nil)) {
		err = errors.New("a tenant is missing")
	}
	if err != nil {
		return nil, h.damaged(fmt.Errorf("%s: %w", h.path("register.json"), err))
	}
	return r, nil
}

// CheckEnrolled returns an error if a tenant never had an identity with a name.
func (h *Hub) CheckEnrolled(tenant, name string) error {
	r, err := h.Register()
	if err != nil {
		return err
	}
	in, err := r.tenant(tenant)
	if err == nil && !slices.ContainsFunc(in.Identities, func(id Identity) bool { return id.Name == name }) {
		err = fmt.Errorf("there is no %s in tenant %s; `picoclaw hub list` shows all names", name, tenant)
	}
	return err
}

// lock has one process at a time do something with the hub's files.
func (h *Hub) lock(name string) (unlock func(), err error) {
	take := filelock.LockWithin(lockPatience)
	if name == runningLock {
		take = filelock.Lock
	}
	f, err := filelock.OpenLocked(h.path(name), take)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

const (
	lockPatience = 10 * time.Second
	changingLock = "changing.lock" // held while the register is read and written
	runningLock  = "running.lock"  // held by who serves
)
