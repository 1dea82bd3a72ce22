package main

import (
	"maps"
	"os"
	"slices"
)

// passed are the variables of this process that commands get. The host gives it no others but those of the operator's
// and what the wire needs, which is no command's business.
var passed = []string{
	"PATH", "LANG", "LC_ALL", "TERM", "TZ",
	"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME",
}

// environment is the whole environment of a command: the list above, what the operator names, what the call adds; the
// later wins.
func environment(operator []string, call map[string]string) []string {
	var env []string
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, operator...)
	for _, name := range slices.Sorted(maps.Keys(call)) {
		env = append(env, name+"="+call[name])
	}
	return env
}
