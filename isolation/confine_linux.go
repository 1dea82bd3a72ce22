package isolation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

// startConfined starts a child that Landlock and a system call filter confine. It needs no helper process: the thread
// that starts the child restricts itself first. That thread lives as long as the child, and later sends the child's
// descendants signals from inside the Landlock domain.
//
// On a kernel without Landlock it logs a warning and applies the other restrictions.
func (pl *processStarter) startConfined(child *exec.Cmd, p Profile, in *cgroupMembership, atDeath syscall.Signal) (*landlockDomain, error) {
	restriction, err := pl.newThreadRestriction(child, p)
	if err != nil {
		return nil, err
	}
	defer restriction.close()
	child.SysProcAttr = childAttributes(child.SysProcAttr)
	child.SysProcAttr.Pdeathsig = atDeath
	domain := newLandlockDomain(pl.landlock)
	started := make(chan error)
	runOnDisposableThread(func() {
		err := in.startInCgroup(child, false, func() error { // the filter refuses clone3
			err := restriction.restrictThread()
			if err == nil {
				err = domain.checkSignalScope()
			}
			if err == nil && domain.scoped {
				err = newSignalFilter(unix.Gettid()).applyToThread()
			}
			if err == nil && p.Notice != nil {
				err = listenMutations(p.Notice, restriction, &pl.monitoredCalls)
			}
			if err == nil {
				err = child.Start()
			}
			return err
		})
		started <- err
		if err == nil {
			domain.runJobs()
		}
	})
	return domain, <-started
}

// threadRestriction confines threads to a profile.
type threadRestriction struct {
	rules    *landlockRuleset  // nil without Landlock
	grants   map[string]uint64 // rights of the ruleset by path
	writable []string          // resolved paths whose files may be changed
	filter   syscallFilter     // nil if the thread has it already
}

// newThreadRestriction returns the restriction of the thread that starts a child. Close it when no more threads need it.
func (pl *processStarter) newThreadRestriction(child *exec.Cmd, p Profile) (*threadRestriction, error) {
	r := &threadRestriction{}
	if pl.landlock == 0 {
		pl.log.Warn("the kernel has no Landlock: only the guard and the workspace confine this process", "profile", p.Name)
	} else {
		var err error
		if r.rules, r.grants, err = pl.newProfileRuleset(child, p); err != nil {
			return nil, err
		}
		r.writable = []string{"/proc"} // the kernel keeps attributes there
		for path, rights := range r.grants {
			if resolved, err := filepath.EvalSymlinks(path); err == nil && rights&writeFile == writeFile {
				r.writable = append(r.writable, resolved)
			}
		}
	}
	needs := confinedFilterOptions(p)
	if own := pl.ownFilter.Load(); own == nil || *own != needs { // children inherit it otherwise
		r.filter = pl.filter(needs)
	}
	return r, nil
}

// restrictThread confines the calling thread.
func (r *threadRestriction) restrictThread() error {
	for _, step := range []func() error{dropCapabilities, setNoNewPrivileges, r.rules.applyToThread, r.filter.applyToThread} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (r *threadRestriction) close() {
	if r.rules != nil {
		_ = r.rules.closeFD()
	}
}

// setNoNewPrivileges prevents the calling thread and its children from gaining privileges.
func setNoNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	return nil
}

// runOnDisposableThread runs f on a thread that ends with f. It avoids the main thread, which can't end: a child would
// get that thread's Landlock domain, and could inspect and signal this process.
func runOnDisposableThread(f func()) {
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

// fileCapabilities let root access files of any owner, within Landlock's rules, but not keep setuid bits.
const fileCapabilities = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER

// dropCapabilities removes all capabilities but fileCapabilities from the calling thread and its children.
// no_new_privs prevents root from regaining them.
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

// newProfileRuleset converts a profile to a Landlock ruleset, and returns the rights in it by path.
func (pl *processStarter) newProfileRuleset(child *exec.Cmd, p Profile) (rules *landlockRuleset, grants map[string]uint64, err error) {
	if !p.Exec {
		if err = (&mountPlanner{profile: p}).checkStatic(child.Path); err != nil {
			return nil, nil, err
		}
	}
	rules, err = newLandlockRuleset(newRulesetAttr(pl.landlock, p.Network))
	if err != nil {
		return nil, nil, err
	}
	grants = pl.cfg.pathGrants(p)
	if err := removeHiddenDirGrants(p, grants); err != nil {
		_ = rules.closeFD()
		return nil, nil, err
	}
	grants[child.Path] |= readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
	for path, rights := range grants {
		if err := rules.allowPath(path, rights); err != nil {
			_ = rules.closeFD()
			return nil, nil, err
		}
	}
	return rules, grants, nil
}

// pathGrants returns the Landlock rights of a profile by path.
func (cfg Config) pathGrants(p Profile) map[string]uint64 {
	read, write := readWriteRights(p)
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
		cfg.grantSystemPaths(grant, len(p.Programs) == 0)
		if p.Terminals || p.Nested {
			grant("/dev/pts", writeFile|readTree)
		}
		configuration := []string{etc}
		if p.Nested { // not the root: a right to list it is one to list what only the plugin may see
			grant("/dev", unix.LANDLOCK_ACCESS_FS_READ_DIR)
		} else {
			configuration = publicEtcTrees()
		}
		for _, tree := range configuration {
			grant(tree, readTree)
		}
	}
	return grants
}

// readWriteRights returns the Landlock rights for read-only and read-write paths.
func readWriteRights(p Profile) (read, write uint64) {
	if p.Exec && len(p.Programs) == 0 {
		return runTree, writeTree | unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	return readTree, writeTree
}

// grantSystemPaths grants the system paths that a sandbox would show, as far as Landlock rules can.
func (cfg Config) grantSystemPaths(grant func(path string, rights uint64), run bool) {
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

// maxSiblings limits the number of entries that replace a granted directory.
const maxSiblings = 4096

// removeHiddenDirGrants removes hidden directories from the grants. Landlock can't exclude part of a granted directory, so
// removeHiddenDirGrants grants the siblings along the path to the hidden directory instead. Directories on that path can only
// be listed, and new entries in them are not granted.
//
// A plugin without exec keeps its write grants, since it could otherwise create no files there. The guard and the
// workspace restrict such a plugin.
func removeHiddenDirGrants(p Profile, grants map[string]uint64) error {
	for _, named := range p.Hide {
		hidden, err := filepath.EvalSymlinks(named)
		if errors.Is(err, fs.ErrNotExist) {
			continue // missing directories need no hiding
		}
		if err != nil {
			return &ProfileError{Profile: p.Name, Path: named, Problem: "is to be hidden and can't be found: " + err.Error()}
		}
		for _, tree := range grantedAncestors(hidden, grants) {
			rights := grants[tree]
			if !p.Exec && rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 {
				continue
			}
			delete(grants, tree)
			for _, dir := range directoriesBetween(tree, hidden) {
				grants[dir] |= rights & unix.LANDLOCK_ACCESS_FS_READ_DIR
				beside, err := siblingsOf(dir, hidden)
				if err != nil {
					return &ProfileError{Profile: p.Name, Path: tree, Problem: fmt.Sprintf("can't be opened around %s: %v", hidden,
						err), Cure: "open a directory that doesn't hold it"}
				}
				for _, path := range beside {
					grants[path] |= rights
				}
			}
		}
	}
	return nil
}

// grantedAncestors returns the granted directories that contain a hidden one.
func grantedAncestors(hidden string, grants map[string]uint64) (trees []string) {
	for path := range grants {
		if isStrictlyBelow(path, hidden) {
			trees = append(trees, path)
		}
	}
	return trees
}

// directoriesBetween returns the directories from a tree down to the parent of a path.
func directoriesBetween(tree, path string) []string {
	dirs := []string{tree}
	for _, name := range strings.Split(filepath.Dir(relativePath(tree, path)), "/") {
		if name != "." {
			dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], name))
		}
	}
	return dirs
}

// siblingsOf returns the entries of dir, except symlinks and the entry that is or contains hidden. A Landlock rule for
// a symlink would apply to its target.
func siblingsOf(dir, hidden string) (beside []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxSiblings {
		return nil, fmt.Errorf("%s contains %d files and directories; the limit is %d", dir, len(entries), maxSiblings)
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); !paths.Within(path, hidden) && entry.Type()&fs.ModeSymlink == 0 {
			beside = append(beside, path)
		}
	}
	return beside, nil
}
