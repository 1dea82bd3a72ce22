//go:build unix

package isolation

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwned refuses a directory that somebody else can put things into: what picoclaw finds there, it believes. Root
// is at home with others' directories, as in a container that is given somebody's; and a group that is the user's own,
// as many systems give each user one, is nobody else.
func checkOwned(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("%s belongs to uid %d, and this is uid %d: run picoclaw as that user, or `chown` it", path,
			stat.Uid, os.Geteuid())
	}
	mode := info.Mode().Perm()
	if mode&0o002 != 0 || mode&0o020 != 0 && int(stat.Gid) != os.Getegid() {
		return fmt.Errorf("%s can be written by others (mode %04o): `chmod go-w %s`", path, mode, path)
	}
	return nil
}

// exitOf says how a reaped process ended.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}

var userEnvVars = []userEnvVar{
	{"HOME", "."},
	{"TMPDIR", "tmp"},
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_STATE_HOME", ".local/state"},
}

func sameEnvName(a, b string) bool { return a == b }
