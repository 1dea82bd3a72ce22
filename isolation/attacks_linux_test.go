package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// weakened takes walls away: all but the namespaces and the mount view.
func weakened(i *Starter, flags ...string) {
	i.starter.filter, i.starter.landlock = withoutFilter, 0
	i.starter.flags = withFlags(flags...)
}

// Root cannot make a read-only mount writable. With its capabilities, and no other wall, it can.
func TestRootCannotRemount(t *testing.T) {
	base := realTemp(t)
	docs := filepath.Join(base, "docs")
	put(t, filepath.Join(docs, "a"), "a")
	attack := func(i *Starter) result {
		return outcome(t, i, shell("mount -o remount,rw,bind "+docs+" && echo x > "+docs+"/new && rm "+docs+"/new"),
			Profile{Name: "test", ReadOnly: []string{docs}, Exec: true, Confine: true})
	}
	i := configured(t, Config{Enabled: true})
	if r := attack(i); r.exit.Success() {
		t.Error("it can be written to")
	}
	// Each of the walls is enough by itself.
	for name, alone := range map[string]func(*processStarter){
		"no capabilities": func(pl *processStarter) {
			pl.flags, pl.filter, pl.landlock = withFlags("--disable-userns"),
				withoutFilter, 0
		},
		"the inner namespace": func(pl *processStarter) {
			pl.flags, pl.filter, pl.landlock = withFlags("--cap-drop", "ALL"), withoutFilter, 0
		},
		"filter": func(pl *processStarter) {
			pl.flags, pl.landlock = withFlags("--cap-drop", "ALL", "--disable-userns"), 0
		},
		"Landlock": func(pl *processStarter) {
			pl.flags, pl.filter = withFlags("--cap-drop", "ALL", "--disable-userns"), withoutFilter
		},
	} {
		i := configured(t, Config{Enabled: true})
		alone(i.starter)
		if r := attack(i); r.exit.Success() {
			t.Errorf("it can be written to with %s alone", name)
		}
	}
	weakened(i, "--cap-drop", "ALL", "--disable-userns")
	if r := attack(i); !r.exit.Success() && os.Getuid() == 0 {
		t.Errorf("it fails without the walls, too: %s", r.stderr)
	}
}

// withFlags are the flags of a sandbox but for these.
func withFlags(but ...string) []string {
	return slices.DeleteFunc(slices.Clone(sandboxFlags), func(flag string) bool { return slices.Contains(but, flag) })
}

// Root owns the kernel's settings, without any capability. Opening one for writing changes nothing yet.
func TestKernelSettingsAreReadOnly(t *testing.T) {
	const attack = ": >> /proc/sys/kernel/core_pattern"
	p := Profile{Name: "test", Exec: true, Confine: true}
	i := configured(t, Config{Enabled: true})
	if r := outcome(t, i, shell(attack), p); r.exit.Success() {
		t.Error("core_pattern can be opened for writing")
	}
	weakened(i, "--cap-drop", "ALL", "--disable-userns")
	if r := outcome(t, i, shell(attack), p); r.exit.Success() {
		t.Error("core_pattern can be opened for writing with a read-only /proc alone")
	}
	naive := exec.Command("/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/sh",
		"-c", attack)
	if out, err := naive.CombinedOutput(); err != nil && os.Getuid() == 0 {
		t.Errorf("it cannot be opened without that, too: %v, %s", err, out)
	}
}

// Root owns the devices, which are the machine's in a sandbox, too, and can't change them there all the same.
func TestDevicesAreImmutable(t *testing.T) {
	const device = "/dev/full"
	before, err := os.Stat(device)
	if err != nil {
		t.Fatal(err)
	}
	p := Profile{Name: "test", ReadOnly: []string{"/usr"}, Exec: true, Confine: true}
	attack := shell("chmod 600 " + device)
	i := configured(t, Config{Enabled: true})
	if r := outcome(t, i, attack, p); r.exit.Success() {
		t.Errorf("%s was changed", device)
	}
	use := shell("echo x > /dev/null && head -c 2 /dev/zero | wc -c && ! echo x > " + device)
	if r := outcome(t, i, use, p); !r.exit.Success() || strings.TrimSpace(r.stdout) != "2" {
		t.Errorf("the devices can't be used: %s %s", r.stdout, r.stderr)
	}
	if os.Getuid() != 0 {
		return // it owns none
	}
	i.starter.aroundStart = func(start func() error) error { return start() }
	if r := outcome(t, i, shell("chmod 600 "+device), p); !r.exit.Success() {
		t.Errorf("it fails without the wall, too: %s", r.stderr)
	}
	if err := os.Chmod(device, before.Mode().Perm()); err != nil {
		t.Error(err)
	}
}

// Nobody inside gets a user namespace of its own, and so no bubblewrap in the bubblewrap.
func TestNoUserNamespaceInside(t *testing.T) {
	for name, attack := range map[string]string{
		"a user namespace":   "unshare -U true",
		"another bubblewrap": "bwrap --unshare-user --ro-bind / / true",
	} {
		p := Profile{Name: "test", Exec: true, Confine: true}
		i := configured(t, Config{Enabled: true})
		if r := outcome(t, i, shell(attack), p); r.exit.Success() {
			t.Errorf("%s can be had", name)
		}
		i.starter.filter, i.starter.landlock = withoutFilter, 0
		if r := outcome(t, i, shell(attack), p); r.exit.Success() {
			t.Errorf("%s can be had by --disable-userns alone", name)
		}
		weakened(i, "--disable-userns", "--cap-drop", "ALL")
		if r := outcome(t, i, shell(attack), p); !r.exit.Success() && name == "a user namespace" {
			t.Errorf("%s cannot be had without the walls, too: %s", name, r.stderr) // for the other, /proc is read-only besides
		}
	}
}

// What this process has inherited is not passed on. A descriptor that it opens inheritable afterwards would be: that is
// what NewStarter prevents for all that were there before it.
func TestInheritedDescriptorsAreNotPassed(t *testing.T) {
	secret := put(t, filepath.Join(realTemp(t), "secret"), "canary")
	inheritable(t, secret)
	i := configured(t, Config{Enabled: true})
	if r := outcome(t, i, child("fds"), Profile{}); r.stdout != "0\n1\n2\n" {
		t.Errorf("open inside: %q", r.stdout)
	}
	fd := inheritable(t, secret)
	if r := outcome(t, i, child("fds"), Profile{}); !strings.Contains(r.stdout, fmt.Sprintln(fd)) {
		t.Errorf("a descriptor that is inheritable is not open inside, so nothing is shown: %q", r.stdout)
	}
}

// The host's secrets are in no environment inside, that of process 1 included. Bubblewrap's own way to clear the
// environment leaves them there.
func TestSandboxEnvironmentsHoldNoSecrets(t *testing.T) {
	t.Setenv("A_SECRET", "canary")
	const attack = "cat /proc/[0-9]*/environ | tr '\\0' '\\n'"
	i := configured(t, Config{Enabled: true})
	if r := outcome(t, i, shell(attack), Profile{Exec: true}); strings.Contains(r.stdout, "canary") {
		t.Error("a process inside has it")
	}
	naive := exec.Command("/usr/bin/bwrap", "--unshare-all", "--clearenv", "--ro-bind", "/", "/", "--proc", "/proc", "--",
		"/bin/sh", "-c", attack)
	if out, err := naive.CombinedOutput(); err != nil || !strings.Contains(string(out), "canary") {
		t.Errorf("clearing it inside would do, so nothing is shown: %v %s", err, out)
	}
}

// A read-only path in a writable one can't be moved aside with its parent and made anew.
func TestProtectedPathsCannotBeMoved(t *testing.T) {
	work := filepath.Join(realTemp(t), "work")
	hooks := filepath.Join(work, ".git", "hooks")
	put(t, filepath.Join(hooks, "sample"), "")
	put(t, filepath.Join(work, ".git", "config"), "")
	const attack = "mv .git x && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"
	inside := func(i *Starter, attack string) result {
		cmd := shell(attack)
		cmd.Dir = work
		return outcome(t, i, cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{work}, ReadOnly: []string{hooks}})
	}
	i := configured(t, Config{Enabled: true})
	if r := inside(i, attack); r.exit.Success() {
		t.Error("the directory above was moved")
	}
	if r := inside(i, "echo x >> .git/config && echo x > .git/HEAD && echo x > new"); !r.exit.Success() {
		t.Errorf("the rest cannot be written: %s", r.stderr)
	}
	if _, err := os.Stat(filepath.Join(hooks, "pre-commit")); err == nil {
		t.Error("a hook was planted")
	}
	// Bubblewrap with the same mounts and no pin on what is between them.
	naive := exec.Command("/usr/bin/bwrap", "--unshare-user", "--ro-bind", "/", "/", "--bind", work, work, "--ro-bind",
		hooks, hooks,
		"--chdir", work, "--", "/bin/sh", "-c", attack)
	if out, err := naive.CombinedOutput(); err != nil {
		t.Errorf("without the pin it fails, too: %v %s", err, out)
	}
}
