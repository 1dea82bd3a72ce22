//go:build unix

package isolation

import (
	"fmt"
	"os"
	"syscall"
)

// checkDirOwner refuses a directory in which other users can create files. It allows the user's own group. Root may
// use directories of other users, as in containers.
func checkDirOwner(path string, info os.FileInfo) error {
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

// exitStatus converts the state of a reaped process.
func exitStatus(state *os.ProcessState) ExitStatus {
	if state == nil {
		return ExitStatus{Code: -1}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ExitStatus{Code: 128 + int(status.Signal()), Signal: status.Signal()}
	}
	return ExitStatus{Code: state.ExitCode()}
}

var userEnvVars = []userDirVariable{
	{"HOME", "."},
	{"TMPDIR", "tmp"},
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_STATE_HOME", ".local/state"},
}

func sameEnvName(a, b string) bool { return a == b }

// childAttributes returns given, changed to start the child in its own session, without this process's terminal.
func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.Setsid = true
	attr.Setpgid = false
	return &attr
}
