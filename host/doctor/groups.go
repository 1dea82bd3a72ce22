package doctor

import (
	"strings"

	"github.com/picoclaw/picoclaw/isolation"
)

// groups says what the kernel bounds an instance and its commands by, together. Nothing depends on it: limits are
// looked after without it, and ended is what exceeds them.
func (e *examination) groups() {
	const wall = "control groups"
	if e.iso == nil {
		if !e.Policy.Isolation().Enabled {
			e.report.add(wall, Off, "neither isolation.enabled nor restrict_to_workspace is true",
				"set isolation.enabled to true")
		}
		return // else nothing starts, as said above
	}
	g := e.iso.Groups()
	e.report.add(wall, groupState(g), groupWhy(g), g.Cure)
}

func groupState(g isolation.Groups) State {
	switch {
	case len(g.Bounds) > 0:
		return On
	case g.Never:
		return Impossible
	}
	return Off
}

func groupWhy(g isolation.Groups) string {
	var does []string
	if len(g.Bounds) > 0 {
		does = append(does, "the kernel bounds each plugin with all its commands: "+strings.Join(g.Bounds, ", "))
	}
	if g.Kill {
		does = append(does, "it ends all of them in one step")
	}
	if g.Cause != "" {
		does = append(does, g.Cause)
	}
	if len(g.Bounds) == 0 && g.Cure != "" {
		does = append(does, "limits are looked after every 10 to 100 ms, and each process's own are kept by the kernel")
	}
	return strings.Join(does, "; ")
}
