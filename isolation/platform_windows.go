package isolation

import (
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/windows"
)

// machine is what of this machine isolation depends on: nothing that could be elsewhere.
type machine struct{}

func defaultMachine() machine { return machine{} }

// platform starts processes on Windows: each in a job of its own and, with isolation enabled, with a restricted token
// at low integrity.
type platform struct {
	cfg Config
	log hclog.Logger
}

func newPlatform(cfg Config, l layout, log hclog.Logger, _ machine) (*platform, error) {
	if cfg.Enabled {
		if err := refuseExposed(cfg.ExposePaths); err != nil {
			return nil, err
		}
		// Children at low integrity have their home here, and could write to none otherwise.
		if err := labelLow(l.userEnv("")); err != nil {
			return nil, &Unavailable{Cause: "the user environment cannot be given to processes at low integrity", Err: err}
		}
	}
	return &platform{cfg: cfg, log: log}, nil
}

func (*platform) close() {}

func (*platform) filterSelf(Profile) error { return nil }

// start starts child suspended, puts it into its job, makes sure of what it is, and lets it run.
func (pl *platform) start(child *exec.Cmd, p Profile) (*Process, error) {
	if p.Confine && !pl.cfg.Enabled {
		pl.log.Warn("without isolation Windows confines nothing: only the guard and the workspace confine this process",
			"profile", p.Name)
	}
	if err := pl.grant(p); err != nil {
		return nil, err
	}
	job, err := newJob(p.jobBounds(), pl.cfg.Enabled)
	if err != nil {
		return nil, err
	}
	if err := pl.startIn(job, child); err != nil {
		job.close()
		return nil, err
	}
	proc := &Process{pid: child.Process.Pid, tree: job, done: make(chan struct{})}
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(proc.pid))
	if err != nil {
		job.kill()
	}
	go func() {
		if err == nil {
			_, _ = windows.WaitForSingleObject(handle, windows.INFINITE)
			_ = windows.CloseHandle(handle)
		}
		job.kill() // what it has left behind
		proc.finish(child, nil)
		job.close()
	}()
	return proc, nil
}

func (pl *platform) startIn(job *job, child *exec.Cmd) error {
	attr := childAttributes(child.SysProcAttr)
	attr.CreationFlags |= windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
	if pl.cfg.Enabled {
		token, err := restrictedToken()
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
	created, err := job.created(child)
	if err != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
		return err
	}
	defer created.close()
	return release(created, pl.cfg.Enabled)
}

// grant makes what a profile may write to writable at low integrity, and logs what there is.
func (pl *platform) grant(p Profile) error {
	if !pl.cfg.Enabled {
		return nil
	}
	rules, err := accessRules(p)
	if err != nil {
		return err
	}
	lines := make([]string, len(rules))
	for n, rule := range rules {
		lines[n] = rule.mode + " " + rule.path
		if rule.mode != ModeReadWrite {
			continue
		}
		if err := labelLow(rule.path); err != nil {
			return &ProfileError{Profile: p.Name, Path: rule.path, Problem: "cannot be made writable at low integrity: " +
				err.Error(), Cure: "grant a directory that this user owns"}
		}
	}
	pl.log.Debug("windows isolation access rules", "profile", p.Name, "exec", p.Exec, "rules", lines)
	return nil
}

func (pl *platform) prepare(cmd, child *exec.Cmd, p Profile) error {
	if pl.cfg.Enabled {
		return &ProfileError{Profile: p.Name, Problem: "is restricted while it is started and cannot be prepared",
			Cure: "use Start"}
	}
	cmd.Env = child.Env
	return nil
}

func childAttributes(given *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr := syscall.SysProcAttr{}
	if given != nil {
		attr = *given
	}
	attr.HideWindow = true
	return &attr
}

// exitOf says how an ended process ended.
func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	return Exit{Code: state.ExitCode()}
}

var userEnvVars = []userEnvVar{
	{"USERPROFILE", "."},
	{"HOME", "."},
	{"TEMP", `AppData\Local\Temp`},
	{"TMP", `AppData\Local\Temp`},
	{"APPDATA", `AppData\Roaming`},
	{"LOCALAPPDATA", `AppData\Local`},
}

// Windows does not tell variables apart by case.
func sameEnvName(a, b string) bool { return strings.EqualFold(a, b) }

// checkOwned takes what is there: the directory is below the user's own, and its access list is inherited from that.
func checkOwned(string, os.FileInfo) error { return nil }
