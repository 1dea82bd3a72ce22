package isolation

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startConfined starts a child that Landlock holds to its profile and a filter to its system calls, without a helper
// process: the restriction is the thread's that starts the child. The thread is the child's own. It lives as long as
// the child, since the child is killed when it ends, and is thrown away, so that nothing of ours is ever restricted.
// Until then it is the domain's thread inside.
//
// Where the kernel has no Landlock the child is started with the rest; the log says so.
func (pl *platform) startConfined(child *exec.Cmd, p Profile, in *member, atDeath syscall.Signal) (*domain, error) {
	restrict, err := pl.restriction(child, p)
	if err != nil {
		return nil, err
	}
	child.SysProcAttr = childAttributes(child.SysProcAttr)
	child.SysProcAttr.Pdeathsig = atDeath
	domain := newDomain(pl.landlock)
	started := make(chan error)
	onThrownAwayThread(func() {
		err := in.start(child, false, func() error { // the filter refuses clone3
			err := restrict()
			if err == nil {
				err = domain.checkScope()
			}
			if err == nil && p.Notice != nil {
				err = listen(p.Notice)
			}
			if err == nil {
				err = child.Start()
			}
			return err
		})
		started <- err
		if err == nil {
			domain.work()
		}
	})
	return domain, <-started
}

// restriction returns what confines the thread that calls it. It has to be called once.
func (pl *platform) restriction(child *exec.Cmd, p Profile) (restrict func() error, err error) {
	steps := []func() error{dropCapabilities, giveUpPrivileges}
	if pl.landlock == 0 {
		pl.log.Warn("the kernel has no Landlock: only the guard and the workspace confine this process", "profile", p.Name)
	} else {
		rules, err := pl.rules(child, p)
		if err != nil {
			return nil, err
		}
		steps = append(steps, func() error { defer rules.close(); return rules.restrictThread() })
	}
	needs := confinedNeeds(p)
	if own := pl.behind.Load(); own == nil || *own != needs { // whoever has it already hands it down
		steps = append(steps, pl.filter(needs).restrictThread)
	}
	return func() error {
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// giveUpPrivileges keeps the calling thread, and what it starts, from ever gaining privileges by running a program.
func giveUpPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// onThrownAwayThread runs f on a thread that nobody else uses and that ends with f. It is never the process's first
// thread: that one can't end, and the kernel takes its domain for the whole process's, so that a child would be allowed
// to look into this process and to signal it.
func onThrownAwayThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f() // and never unlocked
			return
		}
		taken := make(chan struct{})
		go func() {
			runtime.LockOSThread() // on another thread, since the first is taken
			close(taken)
			f()
		}()
		<-taken
		runtime.UnlockOSThread()
	}()
}

// fileCapabilities let root work on files of any owner. Landlock says which. The one to keep a file's setuid bit while
// writing to it is not among them.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER

// dropCapabilities takes from the calling thread, and what it starts, all other capabilities that it may have: those
// to look into processes, to mount, to load and to kill among them. no_new_privs keeps root from getting them back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // of 32 capabilities each
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	data[0].Permitted &= fileCapabilities
	data[0].Effective &= fileCapabilities
	data[0].Inheritable &= fileCapabilities
	data[1] = unix.CapUserData{}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// rules are what a profile says, in Landlock's terms.
func (pl *platform) rules(child *exec.Cmd, p Profile) (*ruleset, error) {
	if !p.Exec {
		if err := (&view{profile: p}).checkStatic(child.Path); err != nil {
			return nil, err
		}
	}
	rules, err := newRuleset(newAttributes(pl.landlock, p.Network))
	if err != nil {
		return nil, err
	}
	grants := pl.cfg.grants(p)
	if err := spare(p, grants); err != nil {
		_ = rules.close()
		return nil, err
	}
	grants[child.Path] |= readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
	for path, rights := range grants {
		if err := rules.allow(path, rights); err != nil {
			_ = rules.close()
			return nil, err
		}
	}
	return rules, nil
}

// grants are the rights that a profile gives, by path.
func (cfg Config) grants(p Profile) map[string]uint64 {
	read, write := treeRights(p)
	grants := map[string]uint64{}
	grant := func(path string, rights uint64) { grants[path] |= rights }
	for _, path := range p.ReadOnly {
		grant(path, read)
	}
	for _, path := range p.ReadWrite {
		grant(path, write)
	}
	if p.Exec {
		for dir, rights := range p.systemRights() {
			grant(dir, rights)
		}
		cfg.grantSystem(grant, len(p.Programs) == 0)
		if p.Terminals {
			grant("/dev/pts", writeFile|readTree)
		}
	}
	return grants
}

// treeRights are the rights to what a profile shows for reading, and for writing.
func treeRights(p Profile) (read, write uint64) {
	if p.Exec && len(p.Programs) == 0 {
		return runTree, writeTree | unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	return readTree, writeTree
}

// grantSystem gives what programs need in order to run: the same as in a sandbox, as far as Landlock can tell it apart.
func (cfg Config) grantSystem(grant func(path string, rights uint64), run bool) {
	for _, name := range append([]string{"passwd", "group", filepath.Base(CertificatesPath)}, etcFiles...) {
		grant(filepath.Join("/etc", name), readTree)
	}
	grant("/proc", readTree) // of other processes no more than their names: Landlock refuses what ptrace would need
	for _, node := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"} {
		grant(filepath.Join("/dev", node), writeFile|readTree)
	}
	grant("/dev/fd", readTree)
	for _, rule := range cfg.ExposePaths {
		if rule.Target != rule.Source {
			continue // there is no mount view that could show it elsewhere
		}
		rights := uint64(readTree)
		if rule.Mode == "rw" {
			rights = writeTree
		}
		if run {
			rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
		grant(rule.Source, rights)
	}
}
