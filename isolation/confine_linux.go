package isolation

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startConfined starts a child that Landlock holds to its profile, without a helper process: the restriction is the
// thread's that starts the child. The thread is the child's own. It lives as long as the child, since the child is
// killed when it ends, and is thrown away, so that nothing of ours is ever restricted. Until then it is the domain's
// thread inside.
//
// Where the kernel has no Landlock the child is started without, and there is no domain; the log says so.
func (pl *platform) startConfined(child *exec.Cmd, p Profile, atDeath syscall.Signal) (*domain, error) {
	abi := landlockABI()
	if abi == 0 {
		pl.log.Warn("the kernel has no Landlock: only the guard and the workspace confine this process", "profile", p.Name)
		return nil, pl.spawner.start(child, atDeath)
	}
	rules, err := pl.rulesets.get(ruleKey(child.Path, p), func() (*ruleset, error) { return pl.rules(abi, child, p) })
	if err != nil {
		return nil, err
	}
	child.SysProcAttr = childAttributes(child.SysProcAttr)
	child.SysProcAttr.Pdeathsig = atDeath
	domain := newDomain(abi)
	started := make(chan error)
	onThrownAwayThread(func() {
		err := rules.restrictThread()
		rules.release()
		if err == nil {
			err = dropCapabilities()
		}
		if err == nil {
			err = child.Start()
		}
		started <- err
		if err == nil {
			domain.work()
		}
	})
	return domain, <-started
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

// fileCapabilities let root work on files of any owner. Landlock says which.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID

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
func (pl *platform) rules(abi int, child *exec.Cmd, p Profile) (*ruleset, error) {
	if !p.Exec {
		if err := (&view{profile: p}).checkStatic(child.Path); err != nil {
			return nil, err
		}
	}
	rules, err := newRuleset(abi, p.Network)
	if err != nil {
		return nil, err
	}
	read, write := uint64(readTree), uint64(writeTree)
	if p.Exec {
		read, write = runTree, writeTree|unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	grants := map[string]uint64{}
	grant := func(path string, rights uint64) { grants[path] |= rights }
	grant(child.Path, readFile|unix.LANDLOCK_ACCESS_FS_EXECUTE)
	for _, path := range p.ReadOnly {
		grant(path, read)
	}
	for _, path := range p.ReadWrite {
		grant(path, write)
	}
	if p.Exec {
		pl.grantSystem(grant)
	}
	for path, rights := range grants {
		if err := rules.allow(path, rights); err != nil {
			_ = rules.close()
			return nil, err
		}
	}
	return rules, nil
}

// grantSystem gives what programs need in order to run: the same as in a sandbox, as far as Landlock can tell it apart.
func (pl *platform) grantSystem(grant func(path string, rights uint64)) {
	for _, dir := range systemDirs {
		grant(dir, runTree)
	}
	for _, name := range append([]string{"passwd", "group"}, etcFiles...) {
		grant(filepath.Join("/etc", name), readTree)
	}
	grant("/proc", readTree) // of other processes no more than their names: Landlock refuses what ptrace would need
	for _, node := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"} {
		grant(filepath.Join("/dev", node), writeFile|readTree)
	}
	grant("/dev/fd", readTree)
	for _, rule := range pl.cfg.ExposePaths {
		if rule.Target != rule.Source {
			continue // there is no mount view that could show it elsewhere
		}
		if rule.Mode == "rw" {
			grant(rule.Source, writeTree|unix.LANDLOCK_ACCESS_FS_EXECUTE)
		} else {
			grant(rule.Source, runTree)
		}
	}
}
