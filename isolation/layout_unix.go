//go:build !windows

package isolation

var userEnvVars = []userEnvVar{
	{"HOME", "."},
	{"TMPDIR", "tmp"},
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_STATE_HOME", ".local/state"},
}

func sameEnvName(a, b string) bool { return a == b }
