package isolation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// trial finds out whether bubblewrap can build a sandbox here, and keeps below the instance root that it could:
// building one takes as long as starting a plugin does. What is kept counts for this boot, this bubblewrap and these
// kernel settings, in these namespaces. Where it is wrong all the same, a start fails, and says why: see SetupError.
type trial struct {
	bwrap string
	file  string
}

func newTrial(bwrap, cache string) trial {
	return trial{bwrap: bwrap, file: filepath.Join(cache, "sandbox-built")}
}

// pass returns an *Unavailable if there can be no sandbox.
func (t trial) pass() error {
	here := t.identity()
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

// failed finds out why there is no sandbox after all; nil if there can be one.
func (t trial) failed() error {
	err := probeBwrap(t.bwrap)
	if err != nil {
		_ = os.Remove(t.file)
	}
	return err
}

// identity names all that decides whether a sandbox can be built.
func (t trial) identity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uid=%d %s\n", os.Geteuid(), FileIdentity(t.bwrap))
	for _, name := range []string{
		"kernel/random/boot_id", "user/max_user_namespaces", "kernel/unprivileged_userns_clone",
		"kernel/apparmor_restrict_unprivileged_userns",
	} {
		fmt.Fprintf(&b, "%s=%s\n", name, setting(name))
	}
	for _, name := range []string{"user", "mnt", "pid"} {
		place, _ := os.Readlink("/proc/self/ns/" + name)
		b.WriteString(place + "\n")
	}
	label, _ := os.ReadFile("/proc/self/attr/current")
	b.Write(label)
	return b.String()
}
