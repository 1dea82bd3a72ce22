//go:build linux

package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestStartErrors(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		stranger := filepath.Join(f.home, "stranger", "tester")
		if err := os.Mkdir(filepath.Dir(stranger), 0o755); err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile("/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(stranger, program, 0o755); err != nil {
			t.Fatal(err)
		}
		program, err = os.ReadFile(stranger)
		if err != nil {
			t.Fatal(err)
		}
		copy(program[18:], "\xf7\x00") // the machine: BPF
		contents := func(text string, exec bool, programs ...string) func(*InstanceSpec) {
			return func(s *InstanceSpec) {
				s.Binary = filepath.Join(hosttest.TempDir(t), "tester")
				if err := os.WriteFile(s.Binary, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
				s.Profile.Exec, s.Profile.Programs, s.Profile.Confine = exec, programs, true
			}
		}
		for _, test := range []struct {
			name, want string
			change     func(*InstanceSpec)
		}{
			{"is a script for nothing", "for /nowhere/python3, which is missing or not executable; install it",
				contents("#!/nowhere/python3 -I\n", true)},
			{"is a script for nothing in PATH", "for python0, which is missing or not executable; install it",
				contents("#!/usr/bin/env -S A=b python0 -I\n", true)},
			{"is a script for no program", "for /etc, which is missing or not executable", contents("#!/etc\n", true)},
			{"is a script of Windows'", "save the file with LF line ends", contents("#!/bin/sh\r\necho hi\r\n", true)},
			{"is a script for no path", "begin it with #! and an absolute path", contents("#! sh\n", true)},
			{"is a script that may start nothing", "is a script ", contents("#!/bin/sh\n"+strings.Repeat("#", 64), false)},
			{"is a script that may start others",
				"for /bin/sh, which is not among the programs in its plugin.json (rg)",
				contents("#!/bin/sh\n", true, "rg")},
			{"is a text", "is neither a program for linux/", contents("echo hi\n", true)},
			{"is cut off", "is neither a program for linux/", contents("\x7fELF", true)},
			{"is for other processors", "is a program for EM_BPF, but this machine is", contents(string(program), true)},
			{"exits at once", "I would rather not", func(s *InstanceSpec) { s.Env = []string{"MISBEHAVE=exit"} }},
			{"says nothing", "did not answer", func(s *InstanceSpec) { s.Env = []string{"MISBEHAVE=silent"} }},
			{"offers TCP", "only unix sockets", func(s *InstanceSpec) { s.Env = []string{"MISBEHAVE=tcp"} }},
			{"offers another's socket", "not in the directory made for it", func(s *InstanceSpec) {
				s.Env = []string{"MISBEHAVE=elsewhere", "ELSEWHERE=/run/docker.sock"}
			}},
			{"speaks protocol 1", "it speaks another version of the plugin protocol than this picoclaw (version 2); " +
				"rebuild the plugin with the current SDK", func(s *InstanceSpec) { s.Env = []string{"MISBEHAVE=older"} }},
			{"is another program", "Failed to read any lines", func(s *InstanceSpec) { s.Binary = stranger }},
			{"is another plugin", "its description differs", func(s *InstanceSpec) {
				other := *s.Manifest
				other.Version = "2.0.0"
				s.Manifest = &other
			}},
			{"is missing", "nowhere", func(s *InstanceSpec) { s.Binary = filepath.Join(f.home, "nowhere", "tester") }},
		} {
			t.Run(test.name, func(t *testing.T) {
				f.options.StartTimeout = 30 * time.Second
				if test.name == "says nothing" {
					f.options.StartTimeout = time.Second // this one is waited for
				}
				s := f.spec()
				test.change(s)
				_, err := f.Call(t.Context(), s, request(t, "pid", nil), CallCallbacks{})
				if err == nil {
					t.Fatal("it started")
				}
				if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "plugin tester") {
					t.Errorf("the error is %q; want it to name the plugin and say %q", err, test.want)
				}
			})
		}
		// None of them left a process or a socket directory.
		if running := f.RunningPIDs(); len(running) != 0 {
			t.Errorf("running: %v", running)
		}
		dir, err := f.sockets.ensureDir()
		if err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 || left[0].Name() != lockFile {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func TestDialsOnlyPluginSocket(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/run/docker.sock", link); err != nil {
		t.Fatal(err)
	}
	r := &pluginRunner{socketDir: dir, spec: &InstanceSpec{Manifest: &pluginpb.Manifest{ID: "tester"}}}
	for _, address := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:80"}, {"unix", "/run/docker.sock"}, {"unix", dir + "/../x"}, {"unix", dir + "/sub/x"},
		{"unix", file}, {"unix", link}, {"unix", filepath.Join(dir, "missing")}, {"unix", "\x00abstract"}, {"", ""},
	} {
		if _, _, err := r.PluginToHost(address.network, address.address); err == nil {
			t.Errorf("%v is accepted", address)
		}
	}
}

// What a binary says of itself is compared with its manifest at its first start, and again when either is another: not
// at each start.
func TestBinaryVerifiedOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.verified.dir = filepath.Join(f.home, "cache")
		first := f.spec("START=1")
		first.Digest = "one"
		f.call(first, "pid", nil)

		lie := *f.manifest
		lie.Version = "2.0.0"
		known := f.spec("START=2") // another environment is another instance
		known.Digest, known.Manifest = "one", &lie
		f.call(known, "pid", nil)

		changed := f.spec("START=3")
		changed.Digest, changed.Manifest = "two", &lie
		_, err := f.Call(t.Context(), changed, request(t, "pid", nil), CallCallbacks{})
		if err == nil || !strings.Contains(err.Error(), "its description differs") {
			t.Errorf("a binary that is another now was not asked: %v", err)
		}
		if f.verified.isVerified(changed) {
			t.Error("one that is not what its manifest says is noted as if it were")
		}
	})
}

// Others keep sockets beside a host's: what they hold is not swept, what they have left is.
func TestRemoveStaleKeepsLockedDirs(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{"mcp-held", "mcp-left", "mcp-made"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	held, err := filelock.OpenLocked(filepath.Join(parent, "mcp-held", lockFile), filelock.Lock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := os.WriteFile(filepath.Join(parent, "mcp-left", lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	(&socketDir{parent: parent, logger: hclog.NewNullLogger()}).removeStaleDirs(parent)
	for name, want := range map[string]bool{"mcp-held": true, "mcp-left": false, "mcp-made": true} {
		if _, err := os.Stat(filepath.Join(parent, name)); (err == nil) != want {
			t.Errorf("%s is there: %v; want %v", name, err == nil, want)
		}
	}
}
