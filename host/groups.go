package host

import (
	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/isolation"
)

// How far the kernel's limits are behind those of a command. Whoever goes over one of these is to be found out and
// ended with a message, for which there is time while he goes on; the kernel has none.
const (
	processesBehind = 1024
	memoryBehind    = 512 << 20
)

// pluginWeight is a plugin's share of the processors when they are wanted by all: half of what the host has, which has
// to answer whatever commands do.
const pluginWeight = 50

// group bounds an instance with all its commands together, in a control group where there can be one. One command may
// use up what all may: what each may use is looked after by the plugin.
func group(l limits.Limits) isolation.GroupLimits {
	g := isolation.GroupLimits{Memory: boundedMemory(l) + memoryBehind, Weight: pluginWeight}
	if l.Processes > 0 {
		g.Processes = l.Processes + processesBehind
	}
	return g
}

// boundedMemory is how much memory a command may use: what the operator says, and never so much that the machine has
// none left.
func boundedMemory(l limits.Limits) int64 {
	if most := isolation.MachineMemory() / 4 * 3; most > 0 && (l.Memory <= 0 || l.Memory > most) {
		return most
	}
	return l.Memory
}
