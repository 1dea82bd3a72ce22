package doctor

import (
	"strings"

	"github.com/picoclaw/picoclaw/isolation"
)

// checkCgroups reports the limits that control groups enforce. Without groups, picoclaw checks limits periodically.
func (e *examination) checkCgroups() {
	const name = "control groups"
	if e.iso == nil {
		if !e.Policy.IsolationOptions().Enabled {
			e.report.addFinding(name, Off, "neither isolation.enabled nor restrict_to_workspace is true",
				"set isolation.enabled to true")
		}
		return // nothing starts, as checkSandbox reported
	}
	g := e.iso.CgroupSupport()
	e.report.addFinding(name, cgroupState(g), describeCgroups(g), g.Cure)
}

func cgroupState(g isolation.CgroupSupport) ProtectionState {
	switch {
	case len(g.Bounds) > 0:
		return On
	case g.Never:
		return Impossible
	}
	return Off
}

func describeCgroups(g isolation.CgroupSupport) string {
	var does []string
	if len(g.Bounds) > 0 {
		does = append(does, "the kernel limits each plugin with all its commands: "+strings.Join(g.Bounds, ", "))
	}
	if g.Kill {
		does = append(does, "kills all of them at once")
	}
	if g.Cause != "" {
		does = append(does, g.Cause)
	}
	if len(g.Bounds) == 0 && g.Cure != "" {
		does = append(does, "picoclaw checks limits every 10 to 100 ms; the kernel enforces rlimits of single processes")
	}
	return strings.Join(does, "; ")
}
