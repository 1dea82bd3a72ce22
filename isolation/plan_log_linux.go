package isolation

import "github.com/hashicorp/go-hclog"

// log writes the plan down. It holds paths and no content, and no value of any
// environment variable.
func (p *plan) log(log hclog.Logger) {
	if !log.IsDebug() {
		return
	}
	lines := make([]string, len(p.mounts))
	for n, m := range p.mounts {
		lines[n] = string(m.kind) + " " + m.target
		if m.source != "" && m.source != m.target {
			lines[n] = string(m.kind) + " " + m.source + " -> " + m.target
		}
	}
	log.Debug("linux isolation mount plan",
		"profile", p.profile.Name, "exec", p.profile.Exec, "network", p.profile.Network, "mounts", lines)
}
