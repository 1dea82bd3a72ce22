package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CentralFile is where an instance keeps what a fleet has given it.
func CentralFile(home string) string { return filepath.Join(home, "fleet", "central.json") }

// exists reports whether a file is there. One that can't be looked at is: to go on without it would lift what it
// forbids.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// local are the keys that are each machine's own: whom it trusts, and its secrets.
var local = []string{"fleet", "secrets"}

// checkCentral checks what a fleet has given this machine.
func checkCentral(central *node, environ environment) (map[string]any, *checker) {
	check := &checker{userHome: environ.userHome(), settings: map[string]Setting{}}
	for _, m := range central.members {
		if slices.Contains(local, m.key) {
			check.fault(fault(m.origin, m.key, "is each machine's own, and not for a fleet to say",
				"set it in the machine's own configuration"))
		}
	}
	checked, _ := check.value(central, schema().root, "")
	values, _ := checked.(map[string]any) // nil for what is no object, which is noted as a fault
	if agents, ok := values["agents"].(map[string]any); ok {
		delete(agents, "agents")
	}
	sortFaults(check.faults)
	return values, check
}

// below notes what a lower layer sets and this one does not. A list of objects is replaced whole.
func (c *checker) below(lower *checker) {
	c.faults = slices.Concat(lower.faults, c.faults)
	own := maps.Clone(c.settings)
	for key, setting := range lower.settings {
		root, _, _ := strings.Cut(key, "[")
		_, set := own[root]
		if root == agentsKey || root == agentsAlias {
			_, one := own[agentsKey]
			_, other := own[agentsAlias]
			set = one || other
		}
		if !set {
			c.settings[key] = setting
		}
	}
}
