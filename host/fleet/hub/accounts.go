package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// What an account may use.
const (
	maxPayload     = 1 << 20
	maxConnections = 10_000

	maxSubscriptions = 50_000 // of one connection: some four for an agent, one for each session of a gateway
)

// key reads a key.
func (h *Hub) key(name string) (nkeys.KeyPair, error) {
	seed, err := os.ReadFile(h.path("keys", name))
	if err != nil {
		return nil, h.damaged(err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, h.damaged(fmt.Errorf("%s: %w", h.path("keys", name), err))
	}
	return pair, nil
}

// createKey writes a key that does not exist yet.
func (h *Hub) createKey(create func() (nkeys.KeyPair, error), name string) error {
	return h.createFile(func() ([]byte, error) {
		pair, err := create()
		if err != nil {
			return nil, err
		}
		return pair.Seed()
	}, "keys", name)
}

func (h *Hub) createTenantKeys(tenant string) error {
	return errors.Join(h.createKey(nkeys.CreateAccount, "tenant-"+tenant), h.createKey(nkeys.CreateAccount, "store-"+tenant))
}

func (h *Hub) operator() (nkeys.KeyPair, error) { return h.key("operator") }
func (h *Hub) system() (nkeys.KeyPair, error)   { return h.key("system") }

// tenantKey is the key of a tenant's account.
func (h *Hub) tenantKey(tenant string) (nkeys.KeyPair, error) {
	return h.key("tenant-" + tenant)
}

// storeKey is the key of the account that has what a tenant stores.
func (h *Hub) storeKey(tenant string) (nkeys.KeyPair, error) {
	return h.key("store-" + tenant)
}

// operatorClaims are what the server is told of who it is to trust.
func (h *Hub) operatorClaims() (*jwt.OperatorClaims, error) {
	operator, err := h.operator()
	if err != nil {
		return nil, err
	}
	public, err := operator.PublicKey()
	if err != nil {
		return nil, err
	}
	system, err := h.system()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewOperatorClaims(public)
	claims.Name = "picoclaw hub"
	if claims.SystemAccount, err = system.PublicKey(); err != nil {
		return nil, err
	}
	if _, err := claims.Encode(operator); err != nil { // which fills in the issuer
		return nil, err
	}
	return claims, nil
}

// account is what the server is told of a tenant.
func (h *Hub) account(name string, tenant *Tenant) (public, token string, err error) {
	pair, err := h.tenantKey(name)
	if err != nil {
		return "", "", err
	}
	claims, err := accountClaims(pair, name)
	if err != nil {
		return "", "", err
	}
	claims.Limits.Conn = maxConnections
	for _, s := range managed {
		claims.AddMapping(jwt.Subject("$JS.API."+s+".*"),
			jwt.WeightedMapping{Subject: jwt.Subject(alias(s) + ".$1"), Weight: 100})
	}
	for _, id := range tenant.Identities {
		if id.Revoked != nil {
			claims.RevokeAt(id.Key, *id.Revoked)
		}
	}
	return h.sign(claims)
}

// storeAccount is what the server is told of what a tenant stores: see relay.
func (h *Hub) storeAccount(name string) (public, token string, err error) {
	pair, err := h.storeKey(name)
	if err != nil {
		return "", "", err
	}
	claims, err := accountClaims(pair, name+" (store)")
	if err != nil {
		return "", "", err
	}
	claims.Limits.Conn = 64                                                                             // the hub's own
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit} // each has a bound
	return h.sign(claims)
}

// systemAccount is what the server is told of the account that tells it of others.
func (h *Hub) systemAccount() (public, token string, err error) {
	pair, err := h.system()
	if err != nil {
		return "", "", err
	}
	claims, err := accountClaims(pair, "system")
	if err != nil {
		return "", "", err
	}
	claims.Limits.Conn = 64
	return h.sign(claims)
}

func accountClaims(pair nkeys.KeyPair, name string) (*jwt.AccountClaims, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewAccountClaims(public)
	claims.Name = name
	claims.Limits.Payload = maxPayload
	claims.Limits.Imports, claims.Limits.Exports, claims.Limits.WildcardExports = 0, 0, false
	claims.Limits.LeafNodeConn, claims.Limits.DisallowBearer = 0, true
	return claims, nil
}

func (h *Hub) sign(claims *jwt.AccountClaims) (public, token string, err error) {
	operator, err := h.operator()
	if err != nil {
		return "", "", err
	}
	token, err = claims.Encode(operator)
	return claims.Subject, token, err
}

// writeAccounts writes what the server reads when it starts, from the register.
func (h *Hub) writeAccounts(r *Register) error {
	write := func(public, token string, err error) error {
		if err != nil {
			return err
		}
		return atomicfile.WriteFile(filepath.Join(h.path("accounts"), public+".jwt"), []byte(token), 0o600)
	}
	if err := os.MkdirAll(h.path("accounts"), 0o700); err != nil {
		return err
	}
	if err := write(h.systemAccount()); err != nil {
		return err
	}
	for name, tenant := range r.Tenants {
		if err := write(h.storeAccount(name)); err != nil {
			return err
		}
		public, token, err := h.account(name, tenant)
		if err == nil {
			err = h.checkRevocations(public, token)
		}
		if err = write(public, token, err); err != nil {
			return err
		}
	}
	return nil
}

// checkRevocations checks that an account still revokes each key that it revokes on disk: an older register does not.
func (h *Hub) checkRevocations(public, token string) error {
	file := filepath.Join(h.path("accounts"), public+".jwt")
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return err
	}
	old, err := jwt.DecodeAccountClaims(string(before))
	if err != nil {
		return nil // the account is new, or its file was damaged; it is written from the register
	}
	for key := range old.Revocations {
		if _, is := now.Revocations[key]; !is {
			return fmt.Errorf("%s: it is older than %s and readmits the revoked key %s; restore a newer copy of the register, or "+
				"delete the account to readmit the key", h.path("register.json"), file, key)
		}
	}
	return nil
}

// user signs what a key may do in an account; a lifetime of 0 is until it is revoked.
func user(account, key nkeys.KeyPair, name string, may jwt.Permissions, lives time.Duration) (string, error) {
	public, err := key.PublicKey()
	if err != nil {
		return "", err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name, claims.Permissions = name, may
	claims.Limits.Payload, claims.Subs = maxPayload, maxSubscriptions
	claims.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard, jwt.ConnectionTypeInProcess)
	if lives > 0 {
		claims.Expires = time.Now().Add(lives).Unix()
	}
	return claims.Encode(account)
}
