package isolation

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/paths"
)

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
