package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
