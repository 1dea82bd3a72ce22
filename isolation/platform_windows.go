package isolation

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/windows"
)

// processStarter starts processes on Windows, each in its own job. With isolation enabled, they have a restricted
// token at low integrity.
type processStarter struct {
	cfg Config
	log hclog.Logger
}

func newProcessStarter(cfg Config, l homeLayout, log hclog.Logger, _ []string) (*processStarter, error) {
	if cfg.Enabled {
		if err := refuseExposedPaths(cfg.ExposePaths); err != nil {
			return nil, err
		}
		// Children at low integrity have their home here, and could write to none otherwise.
		if err := allowLowIntegrity(l.userEnvDir("")); err != nil {
			return nil, &UnavailableError{Cause: "the user environment cannot be given to processes at low integrity", Err: err}
		}
	}
	return &processStarter{cfg: cfg, log: log}, nil
}

func (*processStarter) closeStarter() {}

func (*processStarter) betweenChanges(f func()) { f() }

// applyFilterToSelf does nothing: Windows has no such filter.
func (*processStarter) applyFilterToSelf(Profile) error { return nil }

// startChild starts child with the rights of p.
func (pl *processStarter) startChild(child *exec.Cmd, p Profile) (*Process, error) {
	if p.Confine && !pl.cfg.Enabled {
		pl.log.Warn("without isolation Windows confines nothing: only the guard and the workspace confine this process",
			"profile", p.Name)
	}
	if err := pl.grantLowIntegrityAccess(p); err != nil {
		return nil, err
	}
	job, err := newJobObject(p.effectiveLimits(), pl.cfg.Enabled)
	if err != nil {
		return nil, err
	}
	if err = pl.startInJob(job, child); err != nil {
		job.closeHandle()
		return nil, err
	}
	proc := &Process{pid: child.Process.Pid, tree: job, done: make(chan struct{})}
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(proc.pid))
	if err != nil {
		job.killAll()
	}
	go func() {
		if err == nil {
			_, _ = windows.WaitForSingleObject(handle, windows.INFINITE)
			_ = windows.CloseHandle(handle)
		}
		job.killAll() // what it has left behind
		proc.reapProcess(child, nil)
		job.closeHandle()
	}()
	return proc, nil
}

func (pl *processStarter) startInJob(job *jobObject, child *exec.Cmd) error {
	attr := childAttributes(child.SysProcAttr)
	attr.CreationFlags |= windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	if pl.cfg.Enabled {
		token, err := newRestrictedToken()
		if err != nil {
			return err
		}
		defer func() { _ = token.Close() }()
		attr.Token = syscall.Token(token)
	}
	child.SysProcAttr = attr
	if err := child.Start(); err != nil {
		return err
	}
	created, err := job.openSuspended(child)
	if err != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
		return err
	}
	defer created.closeHandle()
	return confineAndResume(created, pl.cfg.Enabled)
}

// grantLowIntegrityAccess makes a profile's writable paths writable at low integrity.
func (pl *processStarter) grantLowIntegrityAccess(p Profile) error {
	if !pl.cfg.Enabled {
		return nil
	}
	rules, err := lowIntegrityRules(p)
	if err != nil {
		return err
	}
	lines := make([]string, len(rules))
	for n, rule := range rules {
		lines[n] = rule.mode + " " + rule.path
		if rule.mode != ModeReadWrite {
			continue
		}
		if err := allowLowIntegrity(rule.path); err != nil {
			return &ProfileError{Profile: p.Name, Path: rule.path, Problem: "cannot be made writable at low integrity: " +
				err.Error(), Cure: "grant a directory that this user owns"}
		}
	}
	pl.log.Debug("windows isolation access rules", "profile", p.Name, "exec", p.Exec, "rules", lines)
	return nil
}

// wrapCommand rewrites cmd to run child with the rights of p.
func (pl *processStarter) wrapCommand(cmd, child *exec.Cmd, p Profile) error {
	if pl.cfg.Enabled {
		return &ProfileError{Profile: p.Name, Problem: "is restricted while it is started and cannot be prepared",
			Cure: "use Start"}
	}
	cmd.Env = child.Env
	return nil
}

// childAttributes returns given, changed to start the child without this process's console.
func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.HideWindow = true
	return &attr
}

// exitStatus converts the state of a reaped process.
func exitStatus(state *os.ProcessState) ExitStatus {
	if state == nil {
		return ExitStatus{Code: -1}
	}
	return ExitStatus{Code: state.ExitCode()}
}

var userEnvVars = []userDirVariable{
	{"USERPROFILE", "."},
	{"HOME", "."},
	{"TEMP", `AppData\Local\Temp`},
	{"TMP", `AppData\Local\Temp`},
	{"APPDATA", `AppData\Roaming`},
	{"LOCALAPPDATA", `AppData\Local`},
}

// sameEnvName ignores case, as Windows does.
func sameEnvName(a, b string) bool { return strings.EqualFold(a, b) }

// checkDirOwner accepts every directory, since Windows closes a user's directories to other users.
func checkDirOwner(string, os.FileInfo) error { return nil }
