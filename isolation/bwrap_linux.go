package isolation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

const installBwrap = "install it with one of `apt install bubblewrap`, `dnf install bubblewrap`, `yum install bubblewrap`, `pacman -S bubblewrap`, `apk add bubblewrap`, or set isolation.enabled to false"

// findBwrap returns the first existing path of bubblewrap, and an error if others than root can change that file.
func findBwrap(places []string) (string, error) {
	for _, place := range places {
		real, err := filepath.EvalSymlinks(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", &UnavailableError{Cause: "bubblewrap cannot be looked for at " + place, Err: err}
		}
		if err := checkTrustedProgram(real); err != nil {
			return "", err
		}
		return real, nil
	}
	return "", &UnavailableError{Cause: fmt.Sprintf("bubblewrap (bwrap) is not installed at any of %q", places),
		Cure: installBwrap}
}

// checkTrustedProgram returns an error if a program is setuid, or if others than root can change it.
func checkTrustedProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &UnavailableError{Cause: "bubblewrap cannot be examined", Err: err}
	}
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return &UnavailableError{Cause: path + " is not a regular file", Cure: "reinstall bubblewrap"}
	case mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return &UnavailableError{Cause: path + " is setuid", Cure: "run `chmod u-s,g-s " + path +
			"` as root and allow unprivileged user namespaces"}
	case mode.Perm()&0o111 == 0:
		return &UnavailableError{Cause: path + " is not executable", Cure: "run `chmod 755 " + path +
			"` as root, or reinstall bubblewrap"}
	case mode.Perm()&0o022 != 0:
		return &UnavailableError{Cause: path + " can be written by others than root",
			Cure: "run `chmod go-w " + path + "` as root, or reinstall bubblewrap"}
	}
	if owner := fileOwner(info); owner != 0 {
		return &UnavailableError{Cause: fmt.Sprintf("%s belongs to uid %d, not to root", path, owner),
			Cure: "reinstall bubblewrap"}
	}
	return checkTrustedParents(path)
}

// checkTrustedParents returns an error if others than root can replace the file at path.
func checkTrustedParents(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return &UnavailableError{Cause: "bubblewrap cannot be examined", Err: err}
		}
		// In a sticky directory, entries that belong to root stay.
		writable := info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
		if owner := fileOwner(info); owner != 0 || writable {
			return &UnavailableError{
				Cause: fmt.Sprintf("%s could be replaced: its parent %s is writable by others than root", path, dir),
				Cure:  "run `chown root " + dir + "; chmod go-w " + dir + "` as root",
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func fileOwner(info fs.FileInfo) uint32 {
	return info.Sys().(*syscall.Stat_t).Uid
}

// missingProgram is a path that does not exist. The probe starts it: bubblewrap's error about it means that every
// earlier step succeeded.
const missingProgram = "/no-program"

// probeBwrap builds an empty sandbox with every layer, and returns the cause if that fails.
func probeBwrap(bwrap string) error {
	if err := unix.Access(bwrap, unix.X_OK); err != nil {
		return &UnavailableError{Cause: bwrap + " cannot be executed by this user", Cure: "run `chmod 755 " + bwrap + "` as root",
			Err: err}
	}
	args := append(append([]string{}, sandboxFlags...), "--unshare-net", "--proc", "/proc", "--dev", "/dev", "--tmpfs",
		"/tmp", "--remount-ro", "/", "--", missingProgram)
	cmd := exec.Command(bwrap, args...)
	cmd.Env, cmd.Dir = []string{}, "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	text := strings.TrimSpace(said.String())
	if strings.Contains(text, "execvp "+missingProgram) {
		return nil
	}
	if err == nil {
		err = errors.New("it ended without a word")
	}
	return diagnoseBwrapFailure(bwrap, text, err)
}

// diagnoseBwrapFailure returns the most likely reason why bubblewrap can't build a sandbox.
func diagnoseBwrapFailure(bwrap, said string, err error) *UnavailableError {
	if said != "" {
		first, _, _ := strings.Cut(said, "\n")
		err = errors.New(first)
	}
	u := &UnavailableError{Cause: "bubblewrap cannot build a sandbox here",
		Cure: "run `bwrap --unshare-all --ro-bind / / true` to see why, or set isolation.enabled to false", Err: err}
	switch {
	case strings.Contains(said, "nknown option"):
		u.Cause = bwrap + " is too old"
		u.Cure = "install bubblewrap 0.8.0 or later"
	case readKernelSetting("user/max_user_namespaces") == "0":
		u.Cause = "user namespaces are switched off (user.max_user_namespaces is 0)"
		u.Cure = "run `sysctl -w user.max_user_namespaces=15000` as root"
	case os.Geteuid() != 0 && readKernelSetting("kernel/unprivileged_userns_clone") == "0":
		u.Cause = "unprivileged user namespaces are switched off (kernel.unprivileged_userns_clone is 0)"
		u.Cure = "run `sysctl -w kernel.unprivileged_userns_clone=1` as root"
	case os.Geteuid() != 0 && readKernelSetting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		u.Cause = "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)"
		u.Cure = "install picoclaw's package for Ubuntu, which has an AppArmor profile, or run `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0` as root"
	case strings.Contains(said, "mount proc") || strings.Contains(said, "mounting proc"):
		u.Cause = "a container hides parts of /proc, so that no new one can be mounted"
		u.Cure = "run the container with an unmasked /proc (Docker: --security-opt systempaths=unconfined), or set isolation.enabled to false"
	case strings.Contains(said, "namespace"):
		u.Cause = "new namespaces are not permitted"
		u.Cure = "allow them (Docker: --security-opt seccomp=unconfined, or a profile that allows unshare and mount), or set isolation.enabled to false"
	}
	return u
}

// readKernelSetting reads a file below /proc/sys; empty if missing.
func readKernelSetting(name string) string {
	value, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}

// checkExposeSources refuses rules whose source is missing or contains a symlink.
func checkExposeSources(rules []ExposedPath) error {
	for _, rule := range rules {
		key := fmt.Sprintf("isolation.expose_paths: source %q", rule.Source)
		switch err := checkPathHasNoLinks(rule.Source); {
		case err == nil:
		case errors.Is(err, unix.ENOENT):
			return &ConfigError{Key: key, Problem: "it does not exist", Cure: "create it, or remove the rule"}
		case errors.Is(err, unix.ELOOP):
			return &ConfigError{Key: key, Problem: "it leads through a symbolic link",
				Cure: "use the symlink's target as the source, and this path as the target"}
		default:
			return &ConfigError{Key: key, Problem: err.Error(), Cure: "expose a path that this user can open"}
		}
		if rule.Target == "/" || paths.Within("/proc", rule.Target) || paths.Within("/dev", rule.Target) {
			return &ConfigError{Key: fmt.Sprintf("isolation.expose_paths: target %q", rule.Target),
				Problem: "it is reserved for the sandbox itself", Cure: "choose another target"}
		}
	}
	return nil
}

// sandboxChecker checks whether bubblewrap can build a sandbox. It caches success, since the check takes as long as a
// plugin start. The result is valid for the same boot, bubblewrap, kernel settings and namespaces.
type sandboxChecker struct {
	bwrap string
	file  string
}

// checkSandbox returns an *UnavailableError if bubblewrap can build no sandbox.
func (t sandboxChecker) checkSandbox() error {
	here := t.cacheKey()
	if known, err := os.ReadFile(t.file); err == nil && string(known) == here {
		return nil
	}
	if err := probeBwrap(t.bwrap); err != nil {
		return err
	}
	// Where it can't be kept it is found out again.
	if os.MkdirAll(filepath.Dir(t.file), 0o700) == nil {
		_ = os.WriteFile(t.file, []byte(here), 0o600)
	}
	return nil
}

// recheckSandbox checks again after a failed start and returns the reason; nil if sandboxes can be built.
func (t sandboxChecker) recheckSandbox() error {
	err := probeBwrap(t.bwrap)
	if err != nil {
		_ = os.Remove(t.file)
	}
	return err
}

// cacheKey returns text with all facts that decide whether a sandbox can be built. The cached result is for this key.
func (t sandboxChecker) cacheKey() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uid=%d %s\n", os.Geteuid(), FileIdentity(t.bwrap))
	for _, name := range []string{
		"kernel/random/boot_id", "user/max_user_namespaces", "kernel/unprivileged_userns_clone",
		"kernel/apparmor_restrict_unprivileged_userns",
	} {
		fmt.Fprintf(&b, "%s=%s\n", name, readKernelSetting(name))
	}
	for _, name := range []string{"user", "mnt", "pid"} {
		place, _ := os.Readlink("/proc/self/ns/" + name)
		b.WriteString(place + "\n")
	}
	label, _ := os.ReadFile("/proc/self/attr/current")
	b.Write(label)
	return b.String()
}

// bwrapFollowsLinks tests whether bubblewrap follows symlinks when it creates mount points, as unpatched versions
// before 0.12 do. Others who can write the directory could then redirect the mount. It returns true if the test fails.
func bwrapFollowsLinks(bwrap, scratch string) bool {
	dir, err := os.MkdirTemp(scratch, "bwrap-")
	if err != nil {
		return true
	}
	defer func() { _ = os.RemoveAll(dir) }()
	victim, work, source := filepath.Join(dir, "victim"), filepath.Join(dir, "work"), filepath.Join(dir, "source")
	for _, d := range []string{victim, source, work, filepath.Join(work, "plain")} {
		if os.Mkdir(d, 0o700) != nil {
			return true
		}
	}
	// While bubblewrap works, the host's root is at /oldroot.
	for name, to := range map[string]string{"old": "/oldroot" + victim, "new": victim} {
		if os.Symlink(to, filepath.Join(work, name)) != nil {
			return true
		}
	}
	for _, way := range []string{"plain", "old", "new"} {
		args := append(append([]string{}, sandboxFlags...), "--bind", work, work,
			"--ro-bind", source, filepath.Join(work, way, "made"), "--", missingProgram)
		cmd := exec.Command(bwrap, args...)
		cmd.Env, cmd.Dir = []string{}, "/"
		_ = cmd.Run() // there is no such program; what counts is what was made before
	}
	if _, err = os.Lstat(filepath.Join(work, "plain", "made")); err != nil {
		return true // it made nothing at all
	}
	made, err := os.ReadDir(victim)
	return err != nil || len(made) > 0
}
