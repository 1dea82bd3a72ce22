package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sandboxTrial checks whether bubblewrap can build a sandbox, and caches success in the home, since it takes as long as
// a plugin start. The result is valid for this boot, bubblewrap, kernel settings and namespaces. If it is wrong, a
// start fails with a SetupError.
type sandboxTrial struct {
	bwrap string
	file  string
}

func newSandboxTrial(bwrap, cache string) sandboxTrial {
	return sandboxTrial{bwrap: bwrap, file: filepath.Join(cache, "sandbox-built")}
}

// checkSandbox returns an *UnavailableError if no sandbox can be built.
func (t sandboxTrial) checkSandbox() error {
	here := t.cacheIdentity()
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

// recheckSandbox finds the reason of a failed start; nil if sandboxes can be built.
func (t sandboxTrial) recheckSandbox() error {
	err := probeBwrap(t.bwrap)
	if err != nil {
		_ = os.Remove(t.file)
	}
	return err
}

// cacheIdentity identifies everything that decides whether a sandbox can be built.
func (t sandboxTrial) cacheIdentity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uid=%d %s\n", os.Geteuid(), FileIdentity(t.bwrap))
	for _, name := range []string{
		"kernel/random/boot_id", "user/max_user_namespaces", "kernel/unprivileged_userns_clone",
		"kernel/apparmor_restrict_unprivileged_userns",
	} {
		fmt.Fprintf(&b, "%s=%s\n", name, kernelSetting(name))
	}
	for _, name := range []string{"user", "mnt", "pid"} {
		place, _ := os.Readlink("/proc/self/ns/" + name)
		b.WriteString(place + "\n")
	}
	label, _ := os.ReadFile("/proc/self/attr/current")
	b.Write(label)
	return b.String()
}
