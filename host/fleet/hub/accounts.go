package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// What an account may use.
const (
	maxPayload     = 1 << 20
	maxConnections = 10_000
	ownConnections = 64 // where only the hub connects

	maxSubscriptions = 50_000 // of one connection: some four for an agent, one for each session of a gateway
)

// key reads the key of the operator, of the account system, of a tenant's account (tenant-NAME), or of its account for
// stored data (store-NAME).
func (h *Hub) key(name string) (nkeys.KeyPair, error) {
	seed, err := smallfile.Read(h.path("keys", name), 1<<10)
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

// hasAccount fails until an account's claims are written, which a command does after the register. NATS refuses a
// connection before that, and its client then never returns from an in-process connection.
func (h *Hub) hasAccount(name string) error {
	pair, err := h.key(name)
	if err != nil {
		return err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return err
	}
	_, err = os.Stat(h.path("accounts", public+".jwt"))
	return err
}

// operatorClaims are what the server is told of who it is to trust.
func (h *Hub) operatorClaims() (*jwt.OperatorClaims, error) {
	operator, err := h.key("operator")
	if err != nil {
		return nil, err
	}
	public, err := operator.PublicKey()
	if err != nil {
		return nil, err
	}
	system, err := h.key("system")
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
	return h.sign("tenant-"+name, name, maxConnections, func(claims *jwt.AccountClaims) {
		for _, s := range managed {
			claims.AddMapping(jwt.Subject("$JS.API."+s+".*"),
				jwt.WeightedMapping{Subject: jwt.Subject(alias(s) + ".$1"), Weight: 100})
		}
		for _, id := range tenant.Identities {
			if id.Revoked != nil {
				claims.RevokeAt(id.Key, *id.Revoked)
			}
		}
	})
}

// storeAccount is what the server is told of what a tenant stores: see relay.
func (h *Hub) storeAccount(name string) (public, token string, err error) {
	return h.sign("store-"+name, name+" (store)", ownConnections, func(claims *jwt.AccountClaims) {
		claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit} // each has a bound
	})
}

// sign returns the public key and the signed claims of an account.
func (h *Hub) sign(key, name string, connections int64, add func(*jwt.AccountClaims)) (public, token string, err error) {
	pair, err := h.key(key)
	if err != nil {
		return "", "", err
	}
	if public, err = pair.PublicKey(); err != nil {
		return "", "", err
	}
	operator, err := h.key("operator")
	if err != nil {
		return "", "", err
	}
	claims := jwt.NewAccountClaims(public)
	claims.Name = name
	claims.Limits.Payload, claims.Limits.Conn = maxPayload, connections
	claims.Limits.Imports, claims.Limits.Exports, claims.Limits.WildcardExports = 0, 0, false
	claims.Limits.LeafNodeConn, claims.Limits.DisallowBearer = 0, true
	add(claims)
	token, err = claims.Encode(operator)
	return public, token, err
}

// writeAccounts writes what the server reads when it starts, from the register.
func (h *Hub) writeAccounts(r *Register) error {
	write := func(public, token string, err error) error {
		if err != nil {
			return err
		}
		return atomicfile.WriteFile(h.path("accounts", public+".jwt"), []byte(token), 0o600)
	}
	if err := os.MkdirAll(h.path("accounts"), 0o700); err != nil {
		return err
	}
	// The account that tells the server of others.
	if err := write(h.sign("system", "system", ownConnections, func(*jwt.AccountClaims) {})); err != nil {
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
	file := h.path("accounts", public+".jwt")
	before, err := smallfile.Read(file, 1<<20)
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

// permissions are the subjects on which an identity may publish and subscribe in its tenant.
func permissions(tenant string, id Identity) jwt.Permissions {
	var p jwt.Permissions
	switch id.Role {
	case identity.Admin:
		p.Pub.Allow.Add(">")
		p.Sub.Allow.Add(">")
		return p
	case identity.Gateway:
		gateway(&p, tenant, id)
	case identity.Worker:
		worker(&p, tenant, id)
	}
	// Answers to what it asks come to an inbox that nobody else can listen at.
	p.Sub.Allow.Add(subject.Inbox(id.Name) + ".>")
	return p
}

// worker may serve its own agents. It may answer nowhere but where its agents' callers and its admins listen: who it
// is asked by would choose the subject otherwise.
func worker(p *jwt.Permissions, tenant string, id Identity) {
	for _, agent := range id.Agents {
		p.Sub.Allow.Add(subject.Workspace(tenant, agent, ">"))
		p.Pub.Allow.Add(subject.Answers(tenant, agent)+">", "$KV."+subject.Placement+"."+subject.Token(agent))
	}
	p.Sub.Allow.Add(subject.Orders(tenant, id.Name), "$SRV.>")
	p.Pub.Allow.Add(subject.Reports(tenant, id.Name)+">", "$KV."+subject.Placement+"."+subject.SignKey(id.Name),
		subject.WitnessOf(tenant, id.Name))
	readsNewest(p, "KV_"+subject.Placement, "$KV."+subject.Placement+".>")
	readsNewest(p, "KV_"+subject.Bundles, "$KV."+subject.Bundles+".>")
	in := "OBJ_" + subject.In(id.Name)
	readsAll(p, in)
	mayManage(p, "STREAM.PURGE", in) // of what it has taken

	// Objects for gateways and for other workers: written, and not read. Their names are not known here, and all
	// buckets of objects in a tenant are of these two kinds.
	p.Pub.Allow.Add("$O.*.C.*.*", "$O.*.M.*")
}

// gateway may call all agents of the tenant, and receives their answers.
func gateway(p *jwt.Permissions, tenant string, id Identity) {
	p.Pub.Allow.Add(subject.All(tenant, "ws"))
	p.Sub.Allow.Add(subject.AllAnswers(tenant, subject.Caller(id.Name)+">"), subject.AllAnswers(tenant, subject.Changed))
	readsNewest(p, "KV_"+subject.Placement, "$KV."+subject.Placement+".>")
	readsAll(p, "OBJ_"+subject.Results)
	readsAll(p, subject.Witness)
}

// readsNewest lets one read the newest of what is stored under subjects.
func readsNewest(p *jwt.Permissions, stream, of string) {
	mayManage(p, "STREAM.INFO", stream)
	p.Pub.Allow.Add("$JS.API.DIRECT.GET." + stream + "." + of)
}

// readsAll lets one read all of a stream, one by one.
func readsAll(p *jwt.Permissions, stream string) {
	mayManage(p, "STREAM.INFO", stream)
	p.Pub.Allow.Add("$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>")
}

// mayManage lets one ask something of a stream as such.
func mayManage(p *jwt.Permissions, request, stream string) {
	p.Pub.Allow.Add(alias(request) + "." + stream) // permissions are looked at when the name is that
}
