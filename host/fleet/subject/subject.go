// Package subject names what a fleet speaks of on NATS: subjects, buckets and streams, the same for those who serve,
// those who ask and the hub that says who may do which.
//
// It is names alone: it must not know connections, permissions, or what a message means.
package subject

import (
	"encoding/hex"
	"strings"
)

// The buckets and streams of a tenant.
const (
	Placement = "pc_placement" // key-value: which worker has an agent
	Results   = "pc_results"   // objects: what is too large for a message
	Bundles   = "pc_bundles"   // key-value: signed configuration
	Witness   = "pc_witness"   // stream: how far the workers' audit logs have come
)

// The verbs of a workspace.
const (
	Call   = "call"
	Tools  = "tools"
	Cancel = "cancel"
	Credit = "credit"
)

// Changed is what follows [Answers] where a worker says that an agent's tools are others, or with somebody else.
const Changed = "changed"

// Token makes one token of a subject of a name. Names of [A-Za-z0-9_-] stay what they are; every other byte becomes
// =XX, so that two names are never one token.
func Token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
		} else {
			b.WriteString("=" + hex.EncodeToString([]byte{c}))
		}
	}
	return b.String()
}

// Workspace is where an agent's workspace is asked for something; the verb may be > for all.
func Workspace(tenant, agent, verb string) string {
	return "pc." + Token(tenant) + ".ws." + Token(agent) + "." + verb
}

// Answers is what the subjects begin with that are answered to for an agent. What follows has to be random: whoever
// knows it can have others speak there.
func Answers(tenant, agent string) string {
	return "pc." + Token(tenant) + ".out." + Token(agent) + "."
}

// Caller is what follows [Answers] where one caller is answered, whose name is a token: it ends in random words, and no
// other caller hears them.
func Caller(name string) string { return Token(name) + "." }

// AllAnswers is what is answered for any agent, at the same end of a subject.
func AllAnswers(tenant, end string) string { return "pc." + Token(tenant) + ".out.*." + end }

// Orders is where an admin tells a worker what to do.
func Orders(tenant, worker string) string { return "pc." + Token(tenant) + ".order." + Token(worker) }

// Reports is what the subjects begin with on which a worker answers to orders: it may answer nowhere else.
func Reports(tenant, worker string) string {
	return "pc." + Token(tenant) + ".report." + Token(worker) + "."
}

// WitnessOf is where a worker tells how far its audit log has come.
func WitnessOf(tenant, worker string) string {
	return "pc." + Token(tenant) + ".witness." + Token(worker)
}

// All is every subject of a kind (ws, out or witness) in a tenant.
func All(tenant, kind string) string { return "pc." + Token(tenant) + "." + kind + ".>" }

// In is the bucket of objects for one worker.
func In(worker string) string { return "pc_in_" + Token(worker) }

// SignKey is the key in [Placement] of a worker's sign of life; those of agents are their tokens.
func SignKey(worker string) string { return "worker." + Token(worker) }

// Inbox is the prefix of an identity's inboxes.
func Inbox(name string) string { return "_INBOX_" + Token(name) }
