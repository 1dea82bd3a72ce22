package hub

import (
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

// gateway may ask all agents of the tenant, and hears what it is answered.
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
