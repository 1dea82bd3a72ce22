package isolation

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Without a bubblewrap that only root can change, nothing starts, and the error names the cause and the cure.
func TestBubblewrapMustBeTrusted(t *testing.T) {
	dir := realTemp(t)
	make := func(name string, mode os.FileMode) string {
		path := put(t, filepath.Join(dir, name, "bwrap"), "#!/bin/sh\nexit 0\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := map[string]struct{ path, cause, cure string }{
		"missing":     {filepath.Join(dir, "none"), "is not installed", "`apt install bubblewrap`"},
		"a directory": {dir, "is not a regular file", "reinstall"},
		"setuid":      {make("setuid", 0o755|os.ModeSetuid), "is setuid", "chmod u-s"},
		"dead":        {make("dead", 0o644), "is not executable", "chmod 755"},
		"writable":    {make("writable", 0o757), "can be written by others", "chmod go-w"},
	}
	if os.Getuid() == 0 {
		cases["in a place that others can write"] = struct{ path, cause, cure string }{loose(t, dir), "could be replaced",
			"chmod go-w"}
		cases["no sandbox comes of it"] = struct{ path, cause, cure string }{honest(t), "cannot build a sandbox",
			"to see why"}
	} else {
		cases["somebody's own"] = struct{ path, cause, cure string }{make("own", 0o755), "belongs to uid", "reinstall"}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newStarterForMachine(Config{Enabled: true, Home: filepath.Join(realTemp(t), "home")}, nil,
				[]string{c.path})
			var cant *UnavailableError
			if !errors.As(err, &cant) || !strings.Contains(cant.Cause, c.cause) || !strings.Contains(cant.Cure, c.cure) {
				t.Errorf("%v", err)
			}
		})
	}
}

// loose is a program that is fine by itself, in a directory where everybody could put another one.
func loose(t *testing.T, dir string) string {
	t.Helper()
	path := put(t, filepath.Join(dir, "loose", "bwrap"), "")
	if err := errors.Join(os.Chmod(path, 0o755), os.Chmod(filepath.Dir(path), 0o777)); err != nil {
		t.Fatal(err)
	}
	return path
}

// honest is a program that root alone can change and that is no bubblewrap.
func honest(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A bubblewrap further down the list does not stand in for one that can't be trusted: somebody has put that there.
func TestUntrustedBubblewrapIsRefused(t *testing.T) {
	suspect := put(t, filepath.Join(realTemp(t), "bwrap"), "")
	if err := os.Chmod(suspect, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := newStarterForMachine(Config{Enabled: true, Home: filepath.Join(realTemp(t), "home")}, nil,
		append([]string{suspect}, defaultBwrapPaths...))
	if err == nil || !strings.Contains(err.Error(), suspect) {
		t.Errorf("%v", err)
	}
}

// Where user namespaces are switched off, the error says so and how to switch them on.
func TestMissingUserNamespacesAreNamed(t *testing.T) {
	if os.Getenv("TEST_NO_NAMESPACES") != "" {
		_, err := NewStarter(Config{Enabled: true, Home: filepath.Join(realTemp(t), "home")}, nil)
		var cant *UnavailableError
		want := "namespaces"
		if os.Getuid() != 0 {
			want = "not to root" // in a namespace without root nothing is root's, bubblewrap neither
		}
		if !errors.As(err, &cant) || !strings.Contains(cant.Cause, want) || cant.Cure == "" {
			t.Errorf("%v", err)
		}
		return
	}
	tmp := realTemp(t)
	self := exec.Command("/usr/bin/bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--bind", tmp,
		tmp, "--",
		os.Args[0], "-test.run", "^"+t.Name()+"$")
	self.Env = append(os.Environ(), "TEST_NO_NAMESPACES=yes", "TMPDIR="+tmp)
	if out, err := self.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
