package isolation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestMountViewShowsOnlyProfile(t *testing.T) {
	base := realTemp(t)
	work := filepath.Join(base, "work")
	docs := filepath.Join(base, "docs")
	put(t, filepath.Join(work, "a"), "in work")
	put(t, filepath.Join(docs, "b"), "in docs")
	secret := put(t, filepath.Join(base, "secret"), "canary")
	i := configured(t, Config{Enabled: true})
	p := Profile{Name: "test", ReadOnly: []string{docs}, ReadWrite: []string{work}}

	for _, test := range []struct {
		args []string
		fine bool
	}{
		{[]string{"read", filepath.Join(work, "a")}, true},
		{[]string{"write", filepath.Join(work, "new"), "x"}, true},
		{[]string{"read", filepath.Join(docs, "b")}, true},
		{[]string{"write", filepath.Join(docs, "b"), "x"}, false},
		{[]string{"write", filepath.Join(base, "new"), "x"}, false},
		{[]string{"write", "/new", "x"}, false},
		{[]string{"read", secret}, false},
		{[]string{"read", "/etc/passwd"}, false},
		{[]string{"list", "/usr"}, false},
		{[]string{"list", "/proc"}, false},
		{[]string{"list", "/dev"}, false},
		{[]string{"list", "/tmp/.X11-unix"}, false},
	} {
		if r := outcome(t, i, child(test.args...), p); r.exit.Success() != test.fine {
			t.Errorf("%q: %v, stderr %q", test.args, r.exit, r.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "new")); err != nil {
		t.Error("what was written inside is not there outside:", err)
	}
	if r := outcome(t, i, child("list", base), p); r.stdout != "docs\nwork\n" {
		t.Errorf("the parent of what is visible holds %q", r.stdout)
	}
}

func TestExecSeesSystemDirectories(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	r := outcome(t, i, shell(`
		set -e
		echo hello | grep -c hello
		test -r /proc/self/status
		echo x > /tmp/scratch
		echo x > /dev/null
		test -w /tmp; ! test -e /etc/shadow; ! test -e /home; ! test -e /root; ! test -e /sys; ! test -e /run
		id -u; grep -c : /etc/passwd; tr '\0' '\n' < /proc/1/environ
		ls /proc | grep -c '^[0-9]' > /dev/null
	`), Profile{Name: "sh", Exec: true})
	if !r.exit.Success() {
		t.Errorf("%v: %s%s", r.exit, r.stdout, r.stderr)
	}
}

func TestProfileRefusals(t *testing.T) {
	base := realTemp(t)
	work := filepath.Join(base, "work")
	put(t, filepath.Join(work, "a"), "")
	link := filepath.Join(base, "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home")
	i := configured(t, Config{Enabled: true, Home: home})
	for _, test := range []struct {
		p    Profile
		says string
	}{
		{Profile{ReadWrite: []string{link}}, "leads through a symbolic link"},
		{Profile{ReadOnly: []string{filepath.Join(link, "a")}}, "leads through a symbolic link"},
		{Profile{ReadOnly: []string{filepath.Join(base, "none")}}, "does not exist"},
		{Profile{ReadOnly: []string{"work"}}, "not an absolute path"},
		{Profile{ReadOnly: []string{home}}, "both visible and hidden"},
		{Profile{UserEnv: true, UserEnvID: "../x"}, "cannot name a user environment"},
	} {
		_, err := i.Start(child("env"), test.p)
		var wrong *ProfileError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v", test.p, err)
		}
	}
	script := put(t, filepath.Join(base, "script"), "#!/bin/sh\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"/bin/sh", script} {
		cmd := child()
		cmd.Path = program
		if _, err := i.Start(cmd, Profile{}); err == nil || !strings.Contains(err.Error(), "grant exec") {
			t.Errorf("%s without exec: got %v", program, err)
		}
	}
}

func TestHomeStaysHidden(t *testing.T) {
	base := realTemp(t)
	home := filepath.Join(base, "home")
	work := filepath.Join(home, "workspace")
	put(t, filepath.Join(home, "config.json"), "canary")
	put(t, filepath.Join(work, "a"), "in work")
	i := configured(t, Config{Enabled: true, Home: home})
	for name, p := range map[string]Profile{
		"workspace":              {ReadWrite: []string{work}},
		"its parent read-only":   {ReadOnly: []string{base}, ReadWrite: []string{work}},
		"its parent read-write":  {ReadWrite: []string{base, work}},
		"everything":             {ReadOnly: []string{"/"}, ReadWrite: []string{work}},
		"everything with system": {ReadOnly: []string{"/"}, ReadWrite: []string{work}, Exec: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := outcome(t, i, child("read", filepath.Join(home, "config.json")), p)
			if r.exit.Success() || strings.Contains(r.stdout, "canary") {
				t.Errorf("the configuration was read: %v %q", r.exit, r.stdout)
			}
			// It may write a file of that name into a private /tmp; the real one must stay.
			outcome(t, i, child("write", filepath.Join(home, "config.json"), "mine"), p)
			if data, err := os.ReadFile(filepath.Join(home, "config.json")); string(data) != "canary" {
				t.Errorf("the configuration was written: %q, %v", data, err)
			}
			r = outcome(t, i, child("read", filepath.Join(work, "a")), p)
			if r.stdout != "in work" {
				t.Errorf("the workspace inside it is lost: %q", r.stderr)
			}
		})
	}
}

// Landlock alone hides it as well, and opens what lies beside it.
func TestLandlockHidesHome(t *testing.T) {
	base := realTemp(t)
	home := filepath.Join(base, "deep", "home")
	work := filepath.Join(home, "workspace")
	put(t, filepath.Join(home, "config.json"), "canary")
	put(t, filepath.Join(work, "a"), "in work")
	put(t, filepath.Join(base, "beside", "b"), "beside")
	put(t, filepath.Join(base, "deep", "c"), "also beside")
	if err := os.Symlink(filepath.Join(home, "config.json"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	i, open := configured(t, Config{Home: home}), configured(t, Config{})
	for name, p := range map[string]Profile{
		"its parent read-only":  {ReadOnly: []string{base}, ReadWrite: []string{work}, Exec: true},
		"its parent read-write": {ReadWrite: []string{base, work}, Exec: true},
		"everything":            {ReadOnly: []string{"/"}, ReadWrite: []string{work}, Exec: true},
	} {
		p.Confine = true
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{filepath.Join(home, "config.json"), filepath.Join(base, "link")} {
				if r := outcome(t, open, shell("cat "+path), p); r.stdout != "canary" {
					t.Fatalf("it can't be read where it isn't hidden, so nothing is shown: %s", r.stderr)
				}
				if r := outcome(t, i, shell("cat "+path), p); r.exit.Success() || r.stdout != "" {
					t.Errorf("the configuration was read as %s: %q", path, r.stdout)
				}
			}
			for _, change := range []string{"echo >> " + home + "/config.json", "touch " + home + "/new",
				"rm " + home + "/config.json", "mv " + work + "/a " + home + "/a"} {
				if r := outcome(t, i, shell(change), p); r.exit.Success() {
					t.Errorf("it was changed by %s", change)
				}
			}
			r := outcome(t, i, shell("cat "+work+"/a "+base+"/beside/b "+base+"/deep/c"), p)
			if r.stdout != "in workbesidealso beside" {
				t.Errorf("what lies in it or beside it is lost: %q, %s", r.stdout, r.stderr)
			}
		})
	}
}

// A profile that shows all of /etc, or all there is, is shown it as it is.
func TestWiderMountsReplaceSystemMounts(t *testing.T) {
	work := realTemp(t)
	i := configured(t, Config{Enabled: true})
	for _, wide := range []string{"/etc", "/usr", "/var", "/"} {
		for _, network := range []bool{false, true} {
			p := Profile{ReadOnly: []string{wide}, ReadWrite: []string{work}, Exec: true, Confine: true, Network: network}
			if r := outcome(t, i, shell("cat /etc/passwd && ls "+wide), p); !r.exit.Success() {
				t.Errorf("%s, network %t: %s", wide, network, r.stderr)
			}
		}
	}
	for _, expose := range []string{"/etc", "/usr/share", "/var"} {
		i := configured(t, Config{Enabled: true, ExposePaths: []ExposedPath{{Source: expose, Target: expose,
			Mode: ModeReadOnly}}})
		if r := outcome(t, i, shell("cat /etc/passwd && ls "+expose),
			Profile{ReadWrite: []string{work}, Exec: true, Confine: true}); !r.exit.Success() {
			t.Errorf("exposed %s: %s", expose, r.stderr)
		}
	}
}

func TestUserEnvironment(t *testing.T) {
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(realTemp(t), "home")
			i := configured(t, Config{Enabled: enabled, Home: home})
			cmd := child("env")
			cmd.Env = []string{"HOME=/root", "KEEP=1"}
			r := outcome(t, i, cmd, Profile{UserEnv: true})
			rue := filepath.Join(home, "runtime-user-env")
			for _, want := range []string{
				"HOME=" + rue, "TMPDIR=" + rue + "/tmp", "XDG_CONFIG_HOME=" + rue + "/.config",
				"XDG_CACHE_HOME=" + rue + "/.cache", "XDG_STATE_HOME=" + rue + "/.local/state", "KEEP=1",
			} {
				if !strings.Contains(r.stdout, want+"\n") {
					t.Errorf("no %s in %q %q", want, r.stdout, r.stderr)
				}
			}
			r = outcome(t, i, child("write", rue+"/.cache/x", "y"), Profile{UserEnv: true})
			if !r.exit.Success() {
				t.Error("the user environment cannot be written:", r.stderr)
			}
			r = outcome(t, i, child("env"), Profile{UserEnv: true, UserEnvID: "main"})
			if !strings.Contains(r.stdout, "HOME="+rue+"/main\n") {
				t.Errorf("the user environment of main: %q %q", r.stdout, r.stderr)
			}
			for _, dir := range []string{"skills", "logs", "cache", "state"} {
				if info, err := os.Stat(filepath.Join(home, dir)); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v", dir, err)
				}
			}
		})
	}
}

func TestUserEnvironmentFollowsNoSymlink(t *testing.T) {
	base := realTemp(t)
	home := filepath.Join(base, "home")
	i := configured(t, Config{Enabled: true, Home: home})
	outside := filepath.Join(base, "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(home, "runtime-user-env", ".local")
	if err := os.RemoveAll(local); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, local); err != nil {
		t.Fatal(err)
	}
	if _, err := i.Start(child("env"), Profile{UserEnv: true}); err == nil {
		t.Error("started over a planted link")
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("made %v outside", entries)
	}
}

func TestHomeMustBeAbsolute(t *testing.T) {
	for _, home := range []string{".", "", "relative"} {
		_, err := NewStarter(Config{Enabled: true, Home: home}, nil)
		var wrong *ConfigError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "PICOCLAW_HOME") {
			t.Errorf("%q: got %v", home, err)
		}
	}
}

func TestPlanIsLogged(t *testing.T) {
	var said bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &said, Level: hclog.Debug})
	base := realTemp(t)
	i, err := NewStarter(Config{Enabled: true, Home: filepath.Join(base, "home")}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	cmd := child("env")
	cmd.Env = []string{"TOKEN=hunter2"}
	if err := i.Run(t.Context(), cmd, Profile{Name: "grep", ReadOnly: []string{base}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"linux isolation mount plan", "grep", "ro-bind " + base} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in %s", want, said.String())
		}
	}
	if strings.Contains(said.String(), "hunter2") {
		t.Error("the log holds a secret")
	}
}
