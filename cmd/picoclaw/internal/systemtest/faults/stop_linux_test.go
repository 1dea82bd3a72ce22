package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// smallHome returns a home on a disk of 64 MB.
func smallHome(t *testing.T) clitest.Home {
	t.Helper()
	return homeOnDisk(t, "size=64m")
}

// homeOnDisk returns a home on a tmpfs with mount options.
func homeOnDisk(t *testing.T, options string) clitest.Home {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	home := clitest.NewHome(t)
	mount(t, "tmpfs", home.Dir, "tmpfs", 0, options)
	if err := os.Mkdir(home.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

// expect runs picoclaw and checks its exit code and parts of its output.
func expect(t *testing.T, home clitest.Home, code int, parts []string, args ...string) string {
	t.Helper()
	out, got := home.Run(t, args...)
	if got != code {
		t.Errorf("%v: exit code %d, want %d: %s", args, got, code, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("%v: %s; want %q", args, out, part)
		}
	}
	return out
}

func TestCommandThatFillsDiskIsStopped(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"at once": "cat /dev/zero > fill; sleep 60",
		"slowly":  "while head -c 2097152 /dev/zero; do sleep 0.02; done > fill; sleep 60",
		"many":    "i=0; while head -c 1048576 /dev/zero > fill$i; do i=$((i+1)); done; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := smallHome(t)
			expect(t, home, clitest.ExitOK, []string{"x"}, "call", "exec", "command=echo x")
			expect(t, home, clitest.ExitFailed, []string{"commands are stopped", home.Dir}, "call", "exec", "command="+fill)
			expect(t, home, clitest.ExitFailed, []string{"commands are stopped", "delete files"}, "call", "exec", "command=echo x")
			expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
			// The rest of the disk is for whoever may write there.
			fillRest := func(name string) {
				for n := 1 << 20; n > 0; n /= 2 {
					for i := range 64 {
						_ = os.WriteFile(filepath.Join(home.Dir, fmt.Sprint(name, n, "-", i)), make([]byte, n), 0o600)
					}
				}
			}
			fillRest("rest")
			expect(t, home, clitest.ExitOK, []string{"All agents are stopped", "it fills the disk"}, "stop", "--why", "it fills the disk")
			expect(t, home, clitest.ExitFailed, []string{"it fills the disk", "picoclaw start"}, "call", "list_dir", "path=.")
			log := filepath.Join(home.Dir, "logs", "audit.jsonl")
			entries, err := os.ReadFile(log)
			if err = errors.Join(err, os.WriteFile(log, entries, 0o600)); err != nil { // without the space allocated ahead
				t.Fatal(err)
			}
			fillRest("rest-")
			expect(t, home, clitest.ExitFailed, []string{"no room for the audit log", "free space"}, "call", "list_dir", "path=.")
			for _, pattern := range []string{"rest*", "workspace/fill*"} {
				files, err := filepath.Glob(filepath.Join(home.Dir, pattern))
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					if err := os.Remove(file); err != nil {
						t.Fatal(err)
					}
				}
			}
			expect(t, home, clitest.ExitOK, nil, "start")
			expect(t, home, clitest.ExitOK, []string{"x"}, "call", "exec", "command=echo x")
			if info, err := os.Stat(filepath.Join(home.Dir, "stopped.reserve")); err != nil || info.Size() != 8<<20 {
				t.Errorf("the reserve after start: %v %v", info, err)
			}
		})
	}
}

func TestStopReachesGatewayOnFullDisk(t *testing.T) {
	t.Parallel()
	home := smallHome(t)
	_, url := home.StartGateway(t)
	token := home.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	list := func() string {
		return clitest.CallToolHTTP(t, url+"/mcp", token, "list_dir", `{"path":"."}`, session)
	}
	if answer := list(); strings.Contains(answer, `"isError":true`) {
		t.Fatal(answer)
	}
	mount(t, home.Dir, home.Dir, "", unix.MS_BIND, "")
	if err := unix.Mount("", home.Dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitFailed, []string{"only the gateway is stopped", "read-only"}, "stop", "--agent", "main", "--why", "broken disk")
	if answer := list(); !strings.Contains(answer, "broken disk") {
		t.Errorf("a call after stop: %s", answer)
	}
	expect(t, home, clitest.ExitOK, []string{"resumed"}, "start", "--agent", "main")
	if answer := list(); strings.Contains(answer, "broken disk") {
		t.Errorf("a call after start: %s", answer)
	}
	if err := unix.Unmount(home.Dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
}

func TestEmptyLockFileDisablesPlugins(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	lock := filepath.Join(home.Dir, "picoclaw.lock")
	expect(t, home, clitest.ExitOK, nil, "plugin", "disable", "grep")
	expect(t, home, clitest.ExitFailed, []string{"switched off"}, "call", "grep", "pattern=x")
	whole, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"empty": {}, "zeroed": make([]byte, len(whole)), "cut": whole[:len(whole)-9],
		"object": []byte("{}"), "null": []byte("null"), "version alone": []byte(`{"version":1}`), "missing": nil} {
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		if text != nil {
			if err := os.WriteFile(lock, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Log(name)
		for _, tool := range [][]string{{"grep", "pattern=x"}, {"list_dir", "path=."}, {"exec", "command=true"}} {
			expect(t, home, clitest.ExitFailed, []string{lock, "picoclaw plugin enable"}, append([]string{"call"}, tool...)...)
		}
		expect(t, home, clitest.ExitStart, []string{lock}, "config", "check")
		expect(t, home, clitest.ExitStart, []string{lock}, "plugin", "disable", "shell")
		if err := os.WriteFile(lock, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, home, clitest.ExitFailed, []string{"switched off"}, "call", "grep", "pattern=x")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitOK, nil, "plugin", "enable", "*")
	expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
}

func TestStopNamesPausedHosts(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	file := filepath.Join(home.Workspace, "ticks")
	ticks := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for _, stop := range [][]string{{"stop"}, {"stop", "--agent", "main"}} {
		cmd := home.Command(home.Program, "call", "exec", "command=while sleep 0.05; do echo x >> ticks; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		hosttest.WaitUntil(t, "the command runs", func() bool { return ticks() > 0 })
		if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		out := expect(t, home, clitest.ExitFailed, []string{fmt.Sprintf("kill -KILL %d", cmd.Process.Pid)}, stop...)
		if strings.Contains(out, "are stopped") {
			t.Errorf("%v: %s", stop, out)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		expect(t, home, clitest.ExitOK, []string{"stopped since"}, stop...)
		hosttest.WaitUntil(t, "the command has ended", func() bool { // the hint works
			return os.Rename(file, file+".old") == nil && len(clitest.DescendantProcesses(cmd.Process.Pid)) == 0
		})
		expect(t, home, clitest.ExitOK, nil, append([]string{"start"}, stop[1:]...)...)
	}
}

func TestMissingStopFileOfNewHomeStopsAll(t *testing.T) {
	t.Parallel()
	for _, first := range [][]string{{"init"}, {"call", "list_dir", "path=."}} {
		home := clitest.NewHome(t)
		expect(t, home, clitest.ExitOK, nil, first...)
		if err := os.Remove(filepath.Join(home.Dir, "stopped.json")); err != nil {
			t.Fatal(err)
		}
		expect(t, home, clitest.ExitFailed, []string{"stopped.json", "picoclaw start"}, "call", "exec", "command=echo x")
		expect(t, home, clitest.ExitOK, []string{"resumed"}, "start")
		expect(t, home, clitest.ExitOK, []string{"x"}, "call", "exec", "command=echo x")
	}
}

func TestStopReplacesDirectory(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	expect(t, home, clitest.ExitOK, []string{"x"}, "call", "exec", "command=echo x")
	for _, args := range [][]string{{"stop"}, {"start"}} {
		file := filepath.Join(home.Dir, "stopped.json")
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(file, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		expect(t, home, clitest.ExitFailed, []string{file}, "call", "exec", "command=echo x")
		expect(t, home, clitest.ExitOK, nil, args...)
	}
	expect(t, home, clitest.ExitOK, []string{"x"}, "call", "exec", "command=echo x")
}

func TestStatusCommandsShowStop(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	_, url := home.StartGateway(t)
	token := filepath.Join(home.Dir, "tokens", "main")
	expect(t, home, clitest.ExitOK, []string{"ready"}, "gateway", "status")
	expect(t, home, clitest.ExitOK, nil, "cron", "add", "job", "--every", "1h", "--message", "x")
	ready := func(want int, part string) {
		t.Helper()
		if status, body := clitest.HTTPGet(t, url+"/ready"); status != want || !strings.Contains(body, part) {
			t.Errorf("/ready: %d %s; want %d with %q", status, body, want, part)
		}
	}
	ready(200, "ready")
	expect(t, home, clitest.ExitOK, nil, "stop", "--why", "it loops")
	expect(t, home, clitest.ExitFailed, []string{"not ready", "it loops", "picoclaw start"}, "gateway", "status")
	ready(503, "it loops")
	for _, args := range [][]string{{"agents"}, {"agents", "--output", "json"}, {"cron", "list"}, {"doctor"}} {
		expect(t, home, clitest.ExitOK, []string{"it loops", "picoclaw start"}, args...)
	}
	expect(t, home, clitest.ExitOK, nil, "start")
	whole, err := os.ReadFile(token)
	if err != nil {
		whole = []byte(home.GatewayToken(t, "main") + "\n")
	}
	if err := os.WriteFile(token, whole[:5], 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitFailed, []string{token, "restore a copy"}, "gateway", "status")
	ready(503, token)
	if err := os.WriteFile(token, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	ready(200, "ready")
}

func TestDoctorNamesWritableStateFiles(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
	if out := expect(t, home, clitest.ExitOK, nil, "doctor"); strings.Contains(out, "state files") {
		t.Error(out)
	}
	for _, name := range []string{"stopped.json", "picoclaw.lock", "logs/audit.jsonl"} {
		path := filepath.Join(home.Dir, name)
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		expect(t, home, clitest.ExitOK, []string{"other users can change " + path, "chmod 600 " + path}, "doctor")
	}
}

func TestEmptyConfigRemedyWorks(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	config, list := filepath.Join(home.Dir, "config.json"), filepath.Join(home.Dir, "files.json")
	expect(t, home, clitest.ExitOK, nil, "init")
	expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
	whole, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(config, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitStart, []string{config, "restore a copy", "files.json", "picoclaw init"}, "call", "list_dir", "path=.")
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitStart, []string{config, "restore a copy", list, "picoclaw init"}, "call", "list_dir", "path=.")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte(strings.Replace(string(text), `"config.json",`, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, home, clitest.ExitOK, nil, "init")
	if now, err := os.ReadFile(config); err != nil || string(now) != string(whole) {
		t.Errorf("init wrote %s %v; want what it wrote first", now, err)
	}
	expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
}

func TestMissingHomeIsError(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"none", "workspace"} {
		home := clitest.NewHome(t)
		home.Dir = filepath.Join(home.Dir, dir)
		for _, args := range [][]string{{"stop"}, {"stop", "--agent", "main"}, {"start"}, {"audit"}, {"audit", "verify"}, {"audit", "stats"},
			{"audit", "export"}} {
			expect(t, home, clitest.ExitStart, []string{home.Dir + " is no home"}, args...)
		}
		if entries, _ := os.ReadDir(home.Dir); len(entries) > 0 {
			t.Errorf("%s has %v", home.Dir, entries)
		}
	}
}

func TestStartNamesUnknownAgent(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	expect(t, home, clitest.ExitOK, nil, "init")
	expect(t, home, clitest.ExitOK, nil, "stop", "--agent", "main")
	for _, name := range []string{"", "mian"} {
		for _, command := range []string{"stop", "start"} {
			expect(t, home, clitest.ExitUsage, []string{"agent"}, command, "--agent="+name)
		}
	}
	expect(t, home, clitest.ExitFailed, []string{"rule: stop"}, "call", "list_dir", "path=.")
	expect(t, home, clitest.ExitOK, []string{"Agent main resumed"}, "start", "--agent", "main")
	expect(t, home, clitest.ExitOK, []string{"was not stopped"}, "start", "--agent", "main")
}
