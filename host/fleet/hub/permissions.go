package hub

import (
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// permissions are what an identity may do in its tenant.
func permissions(tenant string, id Identity) jwt.Permissions {
	var p jwt.Permissions
	switch id.Role {
	case identity.Admin:
		p.Pub.Allow.Add(">")
		p.Sub.Allow.Add(">")
		return p
	case identity.Gateway:
		gateway(&p, tenant)
	case identity.Worker:
		worker(&p, tenant, id)
	}
	// Answers to what it asks come to an inbox that nobody else can listen at.
	p.Sub.Allow.Add(subject.Inbox(id.Name) + ".>")
	return p
}

// worker may serve its own agents.
func worker(p *jwt.Permissions, tenant string, id Identity) {
	for _, agent := range id.Agents {
		p.Sub.Allow.Add(subject.Workspace(tenant, agent, ">"))
		p.Pub.Allow.Add(subject.Answers(tenant, agent)+">", "$KV."+subject.Placement+"."+subject.Token(agent))
	}
	p.Sub.Allow.Add(subject.Orders(tenant, id.Name)) // which admins alone give; the answer goes back as that below

	// Who asks what services there are is answered where the question says, once: a gateway's inbox has no name that a
	// permission could have.
	p.Sub.Allow.Add("$SRV.>")
	p.Resp = &jwt.ResponsePermission{MaxMsgs: 1, Expires: 10 * time.Second}

	p.Pub.Allow.Add("$KV."+subject.Placement+"."+subject.SignKey(id.Name), subject.WitnessOf(tenant, id.Name))
	readsBucket(p, "KV_"+subject.Placement, "$KV."+subject.Placement+".>")
	readsBucket(p, "KV_"+subject.Bundles, "$KV."+subject.Bundles+".>")
	in := subject.In(id.Name)
	readsBucket(p, "OBJ_"+in, "$O."+in+".>")
	p.Pub.Allow.Add("$JS.API.STREAM.PURGE.OBJ_" + in) // of what it has taken

	// Objects for gateways and for other workers: written, and not read. Their names are not known here, and all
	// buckets of objects in a tenant are of these two kinds. What a writer asks first is whether the name is taken.
	p.Pub.Allow.Add("$O.*.C.*", "$O.*.M.*", "$JS.API.DIRECT.GET.*.$O.*.M.*", "$JS.API.STREAM.INFO.*")
}

// gateway may ask all agents of the tenant.
func gateway(p *jwt.Permissions, tenant string) {
	p.Pub.Allow.Add(subject.All(tenant, "ws"), "$SRV.>")
	p.Sub.Allow.Add(subject.All(tenant, "out"))
	readsBucket(p, "KV_"+subject.Placement, "$KV."+subject.Placement+".>")
	readsBucket(p, "OBJ_"+subject.Results, "$O."+subject.Results+".>")
	readsBucket(p, subject.Witness, subject.All(tenant, "witness"))
	p.Pub.Allow.Add("$JS.API.DIRECT.GET." + subject.Witness) // all that is in it, one by one
}

// readsBucket lets one read what is stored under a subject: the newest of it, or with a consumer, whose filter has to
// be this one. A consumer without a filter in its subject, and a durable one, are other requests, which are not
// allowed.
func readsBucket(p *jwt.Permissions, stream, of string) {
	p.Pub.Allow.Add(
		"$JS.API.STREAM.INFO."+stream,
		"$JS.API.DIRECT.GET."+stream+"."+of,
		"$JS.API.CONSUMER.CREATE."+stream+".*."+of,
		"$JS.API.CONSUMER.DELETE."+stream+".*",
		"$JS.FC."+stream+".>", // the flow control of its consumers
	)
}
