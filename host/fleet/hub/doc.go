// Package hub is a NATS server for those who have none: one that knows the tenants and machines of a fleet and lets
// each do what its role needs, and no more.
//
// All that it is lies in one directory: the keys of an operator and of an account for each tenant, a certificate
// authority, a register of identities, and the store of JetStream. [Open] creates them once; a [Hub] is
// then served by [Hub.Serve], and changed by [Hub.Add] and [Hub.Revoke], also from another process while it is served.
// The account of a tenant is written anew from the register and given to the server in the way that NATS has for that,
// which cuts the connections of who was revoked.
//
// What a role may do is permissions.go and nothing else: they stand in the JWT of each identity, signed by its
// tenant's key, and the server keeps them. The package must not know what workers and gateways say to each other,
// beyond the names in package subject.
package hub
