package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// DefaultListen is where a hub listens unless it is told otherwise: for this machine alone.
const DefaultListen = "127.0.0.1:4222"

// ownName is that of the hub's own connections, whose inboxes nobody else may listen at.
const ownName = "hub"

// Hub is the directory of a hub.
type Hub struct{ dir string }

// creatingFile exists while the hub is created, so that a creation that was interrupted continues.
const creatingFile = "creating"

// Open opens the hub in a directory. In an empty directory it creates a hub: keys, a certificate authority, and one
// tenant. It creates no missing file of an existing hub, because a new register would readmit revoked identities.
func Open(dir string) (*Hub, error) {
	h := &Hub{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the hub: %w", err)
	}
	for _, name := range []string{"keys", "authority.pem", "store"} {
		info, err := os.Stat(h.path(name))
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("the hub: other users can access %s (mode %04o), and it contains secrets; run `chmod -R go= %s`, "+
				"and create a new hub if another user may have read it", h.path(name), info.Mode().Perm(), dir)
		}
	}
	err := h.change(func(*Register) error {
		if h.isNew() {
			return h.create()
		}
		if _, err := os.ReadDir(h.path("store")); err != nil {
			return fmt.Errorf("the hub: %w; restore a copy of the directory, or create it empty to lose the configurations and "+
				"witnesses in it", err)
		}
		_, err := h.authority()
		return err
	})
	if err == nil && os.Remove(h.path(creatingFile)) == nil {
		err = atomicfile.SyncDir(dir)
	}
	return h, err
}

// isNew reports whether the directory has no hub yet, or one whose creation was interrupted.
func (h *Hub) isNew() bool {
	exists := func(name string) bool {
		_, err := os.Lstat(h.path(name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	return exists(creatingFile) || !slices.ContainsFunc([]string{"register.json", "authority.pem", "keys", "accounts", "store"}, exists)
}

// create creates all files of a new hub but its register.
func (h *Hub) create() error {
	if err := atomicfile.WriteFile(h.path(creatingFile), nil, 0o600); err != nil {
		return err
	}
	for _, name := range []string{"keys", "store"} {
		if err := os.MkdirAll(h.path(name), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(h.createFile(newAuthority, "authority.pem"), h.createKey(nkeys.CreateOperator, "operator"),
		h.createKey(nkeys.CreateAccount, "system"), h.createTenantKeys(DefaultTenant))
}

// createFile writes a file that does not exist yet.
func (h *Hub) createFile(content func() ([]byte, error), name ...string) error {
	if _, err := os.Lstat(h.path(name...)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := content()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(h.path(name...), data, 0o600)
}

// damaged adds the remedy to an error of a file of the hub.
func (h *Hub) damaged(err error) error {
	return fmt.Errorf("%w; restore a copy of it, or delete %s for a new hub, for which every machine needs a new identity",
		err, h.dir)
}

func (h *Hub) path(names ...string) string {
	return filepath.Join(append([]string{h.dir}, names...)...)
}

// change changes the register, and what the server is told.
func (h *Hub) change(how func(*Register) error) error {
	unlock, err := h.lock(changingLock)
	if errors.Is(err, filelock.ErrLocked) {
		return errors.New("the hub is being changed by another command; try again")
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.Register()
	if err != nil {
		return err
	}
	if err = how(r); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(h.path("register.json"), append(data, '\n'), 0o600); err != nil {
		return err
	}
	return h.writeAccounts(r)
}

// Listen sets where the hub listens, and the names by which other machines reach it; what is empty stays as it is, and
// all does where it can't listen there. They are written into identities, so it is best done before these are made.
func (h *Hub) Listen(address string, names []string) error {
	if h.address() != "" && (address != "" || len(names) > 0) {
		return fmt.Errorf("the hub in %s is running already; end it first", h.dir)
	}
	if err := CheckListen(address, names); err != nil {
		return err
	}
	if address != "" {
		if err := tryListen(address); err != nil {
			return err
		}
	}
	return h.change(func(r *Register) error {
		if address != "" {
			r.Listen = address
		}
		if len(names) > 0 {
			r.Names = names
		}
		return nil
	})
}

// urls are where machines reach the hub.
func (h *Hub) urls(r *Register) ([]string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(h.address(), r.Listen))
	if err != nil {
		return nil, err
	}
	names := r.Names
	if len(names) == 0 {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, fmt.Errorf("the hub listens at %s, and nothing says by which name other machines reach it; start it with "+
				"--name HOST first", r.Listen)
		}
		names = []string{host}
	}
	var urls []string
	for _, name := range names {
		urls = append(urls, "tls://"+net.JoinHostPort(name, port))
	}
	return urls, nil
}

// AddTenant lets in a tenant.
func (h *Hub) AddTenant(ctx context.Context, name string) error {
	if err := checkName("tenant", name); err != nil {
		return err
	}
	err := h.change(func(r *Register) error {
		if r.Tenants[name] != nil {
			return fmt.Errorf("there is a tenant %s already", name)
		}
		r.Tenants[name] = &Tenant{}
		return h.createTenantKeys(name)
	})
	if err == nil {
		err = h.tell(ctx, name)
	}
	if err != nil {
		return err
	}
	return h.served(ctx, name)
}

// Add lets in a machine. What it returns is for that machine alone, and not kept.
func (h *Hub) Add(ctx context.Context, tenant string, added Identity) (*identity.Identity, error) {
	if err := checkName("name", added.Name); err != nil {
		return nil, err
	}
	if added.Name == ownName {
		return nil, fmt.Errorf("%s is the name of the hub itself; take another", ownName)
	}
	if (added.Role == identity.Worker) != (len(added.Agents) > 0) {
		return nil, errors.New("a worker needs the agents that it may serve, and nobody else has any")
	}
	if err := checkAgents(added.Agents); err != nil {
		return nil, err
	}
	id := &identity.Identity{Name: added.Name, Role: added.Role, Tenant: tenant, Agents: added.Agents}
	err := h.change(func(r *Register) error {
		in, err := r.tenant(tenant)
		if err != nil {
			return err
		}
		if in.find(added.Name) != nil {
			return fmt.Errorf("%s is in tenant %s already; `picoclaw hub revoke %s` takes the name back", added.Name, tenant,
				added.Name)
		}
		if id.URLs, err = h.urls(r); err != nil {
			return err
		}
		if added.Key, err = h.issue(id, "tenant-"+tenant, permissions(tenant, added), 0); err != nil {
			return err
		}
		added.Added, added.Revoked = time.Now().UTC().Truncate(time.Second), nil
		in.Identities = append(in.Identities, added)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return id, h.tell(ctx, tenant)
}

// Revoke takes back what a name in a tenant was given. Where the hub is served, its connections end.
func (h *Hub) Revoke(ctx context.Context, tenant, name string) error {
	err := h.change(func(r *Register) error {
		in, err := r.tenant(tenant)
		if err != nil {
			return err
		}
		id := in.find(name)
		if id == nil {
			return fmt.Errorf("there is no %s in tenant %s; `picoclaw hub list` shows who is", name, tenant)
		}
		id.Revoked = new(time.Now().UTC())
		return nil
	})
	if err != nil {
		return err
	}
	return h.tell(ctx, tenant)
}

func (r *Register) tenant(name string) (*Tenant, error) {
	if t := r.Tenants[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("there is no tenant %q, but %s; `picoclaw hub add tenant %s` makes it", name,
		strings.Join(slices.Sorted(maps.Keys(r.Tenants)), ", "), name)
}

// issue sets the secrets of an identity of an account. With a lifetime of 0, the identity is valid until it is revoked.
func (h *Hub) issue(id *identity.Identity, account string, may jwt.Permissions, lives time.Duration) (public string,
	err error) {
	ca, err := h.authority()
	if err != nil {
		return "", err
	}
	by, err := h.key(account)
	if err != nil {
		return "", err
	}
	key, err := nkeys.CreateUser()
	if err != nil {
		return "", err
	}
	if public, err = key.PublicKey(); err != nil {
		return "", err
	}
	seed, err := key.Seed()
	if err != nil {
		return "", err
	}
	id.CA, id.Seed = string(ca.CertificatePEM()), string(seed)
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.Permissions = id.Name, may
	claims.Limits.Payload, claims.Subs = maxPayload, maxSubscriptions
	claims.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard, jwt.ConnectionTypeInProcess)
	if lives > 0 {
		claims.Expires = time.Now().Add(lives).Unix()
	}
	id.JWT, err = claims.Encode(by)
	return public, err
}

// address is where the hub is served now; empty if it is not.
func (h *Hub) address() string {
	unlock, err := h.lock(runningLock)
	if err == nil {
		unlock()
		return ""
	}
	text, _ := smallfile.Read(h.path("address"), 1<<10)
	return string(text)
}

// Admin connects to the hub, which has to be served, as an admin of a tenant, for a short while.
func (h *Hub) Admin(tenant string) (*nats.Conn, error) {
	r, err := h.Register()
	if err != nil {
		return nil, err
	}
	if _, err = r.tenant(tenant); err != nil {
		return nil, err
	}
	at := h.address()
	if at == "" {
		return nil, errors.New("the hub is not running; start it with `picoclaw hub`")
	}
	return h.connect("tls://"+at, tenant, "tenant-"+tenant, time.Minute)
}

// connect connects as one that may do anything in an account, for as long as lives says; 0 is for ever.
func (h *Hub) connect(url, tenant, account string, lives time.Duration, options ...nats.Option) (*nats.Conn, error) {
	id := &identity.Identity{Name: ownName, Role: identity.Admin, Tenant: tenant, URLs: []string{url}}
	if _, err := h.issue(id, account, permissions(tenant, Identity{Role: id.Role}), lives); err != nil {
		return nil, err
	}
	return id.Connect(options...)
}

// tell tells the server, if there is one, of a tenant that has changed. It reads the same from its files otherwise.
func (h *Hub) tell(ctx context.Context, tenant string) error {
	at := h.address()
	if at == "" {
		return nil
	}
	r, err := h.Register()
	if err != nil {
		return err
	}
	_, store, err := h.storeAccount(tenant)
	if err != nil {
		return err
	}
	_, token, err := h.account(tenant, r.Tenants[tenant])
	if err != nil {
		return err
	}
	if err := errors.Join(h.update(ctx, at, store), h.update(ctx, at, token)); err != nil {
		return fmt.Errorf("it is written down, but the running hub was not told, and goes on as before: %w; end it, and start it "+
			"again", err)
	}
	return h.prepare(ctx, at, tenant, r.Tenants[tenant])
}

// update has the server take an account as it is now.
func (h *Hub) update(ctx context.Context, at, token string) error {
	conn, err := h.connect("tls://"+at, "system", "system", time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	answer, err := conn.RequestWithContext(ctx, "$SYS.REQ.CLAIMS.UPDATE", []byte(token))
	if err != nil {
		return err
	}
	var said server.ServerAPIClaimUpdateResponse
	if err := json.Unmarshal(answer.Data, &said); err != nil {
		return err
	}
	if said.Error != nil {
		return errors.New(said.Error.Description)
	}
	return nil
}

const tellTimeout = 10 * time.Second

// prepare makes what a tenant stores, and removes what was for workers that are no more.
func (h *Hub) prepare(ctx context.Context, at, name string, tenant *Tenant) error {
	conn, err := h.connect("tls://"+at, name, "store-"+name, time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	workers := tenant.workers()
	if err := storage.Make(ctx, conn, name, workers); err != nil {
		return err
	}
	for _, id := range tenant.Identities {
		if id.Role == identity.Worker && !slices.Contains(workers, id.Name) {
			if err := storage.Drop(ctx, conn, id.Name); err != nil {
				return fmt.Errorf("what was sent to %s: %w", id.Name, err)
			}
		}
	}
	return nil
}
