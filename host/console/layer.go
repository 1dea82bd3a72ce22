package console

import (
	"strings"

	"github.com/picoclaw/picoclaw/host/audit"
)

// refusingLayer returns the layer that refused a call or made it fail, according to the audit entry; empty if none.
func refusingLayer(r audit.Record) string {
	family, _, _ := strings.Cut(r.Rule, ".")
	switch {
	case !r.WasDenied() && (r.Error == "" || r.Rule == "tools"):
		return ""
	case r.Rule == "stop":
		return "stopped by the operator"
	case family == "audit":
		return "the record"
	case family == "hooks":
		return "a hook"
	case r.Decision == "ask" && r.WasDenied() && r.Approval == nil:
		return "nobody answered"
	case r.Decision == "ask" && r.WasDenied():
		return "a person"
	case r.Rule == "plugin disable", family == "tools" && !strings.HasPrefix(r.Rule, "tools.exec"):
		return "switched off"
	case r.WasDenied() && r.Rule == "":
		return "not a call"
	case strings.HasPrefix(r.Rule, "agents.defaults.limits."):
		return "the agent's limits"
	case r.WasDenied():
		return "guard"
	case family == "network", family == "isolation":
		return "network"
	case family == "workspace", family == "path", family == "limits":
		return "file handles"
	}
	return "" // the tool's own error
}
