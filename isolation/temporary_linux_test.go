package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Programs such as Java and SSH take the home directory from /etc/passwd.
func TestPasswdNamesUserEnvAsHome(t *testing.T) {
	t.Parallel()
	home := filepath.Join(realTemp(t), "home")
	i := configured(t, Config{Enabled: true, Home: home})
	for _, test := range []struct {
		p    Profile
		want string
	}{
		{Profile{Name: "sh", Exec: true, UserEnv: true, UserEnvID: "id"}, UserEnvDir(home, "id")},
		{Profile{Name: "sh", Exec: true, UserEnv: true, UserEnvID: "other"}, UserEnvDir(home, "other")},
		{Profile{Name: "sh", Exec: true}, "/"},
	} {
		if r := outcome(t, i, shell(`eval "echo ~$(id -un)"`), test.p); r.stdout != test.want+"\n" {
			t.Errorf("the home directory is %q, not %s: %s", r.stdout, test.want, r.stderr)
		}
	}
	copies, err := filepath.Glob(filepath.Join(home, "cache", etcPrefix+"*"))
	if err != nil || len(copies) != 1 {
		t.Errorf("%d copies of /etc: %v", len(copies), err)
	}
}

// The temporary directory of a sandbox has a short name, persists, and cannot be replaced by another place.
func TestTmpDirIsShortened(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("/var/tmp", "picoclaw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	home := filepath.Join(base, strings.Repeat("h", 90))
	put(t, filepath.Join(base, "secret", "file"), "canary")
	p := Profile{Name: "sh", Exec: true, Confine: true, UserEnv: true, UserEnvID: "id"}
	i := configured(t, Config{Enabled: true, Home: home})
	const replace = `echo $TMPDIR; echo x >> $TMPDIR/kept; cat /tmp/kept
		mv $HOME/tmp $HOME/away 2>/dev/null && echo moved; rmdir $HOME/tmp 2>/dev/null && echo removed; true`
	for n := range 2 {
		if r := outcome(t, i, shell(replace), p); r.stdout != "/tmp\n"+strings.Repeat("x\n", n+1) {
			t.Errorf("start %d: %q %s", n, r.stdout, r.stderr)
		}
	}
	tmp := filepath.Join(UserEnvDir(home, "id"), "tmp")
	if data, err := os.ReadFile(filepath.Join(tmp, "kept")); string(data) != "x\nx\n" {
		t.Errorf("outside it holds %q, %v", data, err)
	}

	// With something of the host's below /tmp it stays at its own place.
	with := p
	with.ReadOnly = []string{realTemp(t)}
	if !strings.HasPrefix(with.ReadOnly[0], "/tmp/") {
		with.ReadOnly = nil
	} else if r := outcome(t, i, shell("echo $TMPDIR"), with); r.stdout != tmp+"\n" {
		t.Errorf("beside a directory in /tmp: %q %s", r.stdout, r.stderr)
	}

	// A link that was placed there without a sandbox leads nowhere.
	if err := os.RemoveAll(tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "secret"), tmp); err != nil {
		t.Fatal(err)
	}
	v, err := newMountPlanner(Profile{Exec: true, temporary: tmp}, nil, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	v.bindTmpDir()
	for _, m := range v.mounts {
		if m.target == "/tmp" && m.kind != tmpfs {
			t.Errorf("the link is followed: %+v", m)
		}
	}
}

func TestSandboxResolvesItsOwnName(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", own} {
		if !strings.Contains(etcHostsContent(), " "+name) {
			t.Errorf("%s is missing in %q", name, etcHostsContent())
		}
	}
}
