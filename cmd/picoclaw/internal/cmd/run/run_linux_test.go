package run_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// project is a git repository outside the home, and the environment for programs that run in it.
type project struct {
	t         *testing.T
	home, dir string
	env       []string
}

func newProject(t *testing.T) *project {
	t.Helper()
	base := t.TempDir()
	p := &project{t: t, home: filepath.Join(base, "home"), dir: filepath.Join(base, "user", "project")}
	for _, dir := range []string{p.home, filepath.Join(p.dir, "inner")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	clitest.SeedSandboxCache(t, p.home)
	p.env = []string{"HOME=" + filepath.Join(base, "user"), "PICOCLAW_HOME=" + p.home, "PATH=/usr/bin:/bin"}
	p.command("git", "init", "-q").mustRun(t)
	return p
}

type command struct{ *exec.Cmd }

func (c command) mustRun(t *testing.T) string {
	t.Helper()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}

func (p *project) command(name string, args ...string) command {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return command{cmd}
}

func (p *project) picoclaw(args ...string) command {
	return p.command(hosttest.ProgramPath("bin/picoclaw"), args...)
}

// runProgram runs a shell script in the sandbox, and returns its output and exit code.
func (p *project) run(script string, flags ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := p.picoclaw(append(append([]string{"run"}, flags...), "--", "sh", "-c", script)...)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), errors.String(), cmd.ProcessState.ExitCode()
}

// writeConfig writes the configuration.
func (p *project) writeConfig(text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.home, "config.json"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// serve starts a server on the loopback interface that answers "reached", and returns its port with a colon before it.
func (p *project) serve(start func(http.Handler) *httptest.Server) string {
	p.t.Helper()
	server := start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached\n") }))
	p.t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		p.t.Fatal(err)
	}
	return ":" + port
}

func (p *project) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestProgramSeesOnlyProject(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	secret := filepath.Join(filepath.Dir(p.dir), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := p.picoclaw("run", "--", "sh", "-c", "pwd; echo text > ../made; cat "+secret+" "+p.home+"/config.json; touch "+secret+"2; env")
	cmd.Dir = filepath.Join(p.dir, "inner")
	cmd.Env = append(cmd.Env, "UNRELATED_TOKEN=do-not-pass")
	out, _ := cmd.CombinedOutput()
	if !strings.HasPrefix(string(out), filepath.Join(p.dir, "inner")+"\n") || p.read("made") != "text\n" {
		t.Errorf("the project is not usable: %s", out)
	}
	if strings.Contains(string(out), "do-not-pass") || strings.Contains(string(out), "\nsecret") {
		t.Errorf("the program sees too much: %s", out)
	}
	if _, err := os.Lstat(secret + "2"); err == nil {
		t.Error("the program wrote outside the project")
	}
}

func TestExitCodeIsProgramsOwn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 42": 42, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9} {
		if _, stderr, code := p.run(script); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", script, code, want, stderr)
		}
	}
	if _, stderr, code := p.run("true", "--project", "missing"); code != 1 || !strings.Contains(stderr, "name an existing directory") {
		t.Errorf("%d %s", code, stderr)
	}
	out, err := p.picoclaw("run", "--", "no-such-program").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no program no-such-program in PATH") {
		t.Errorf("%v %s", err, out)
	}
}

// Without a terminal, streams are pipes: bytes pass unchanged, and the end of input is seen.
func TestPipesPassBytesUnchanged(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * 7 >> (i % 5))
	}
	cmd := p.picoclaw("run", "--", "sh", "-c", "cat; echo err >&2")
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &out, &stderr
	if err := cmd.Run(); err != nil || !bytes.Equal(out.Bytes(), data) || stderr.String() != "err\n" {
		t.Errorf("%v, %d bytes, %q", err, out.Len(), stderr.String())
	}
}

func TestSignalsReachProgram(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := p.picoclaw("run", "--", "sh", "-c", "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
	out := clitest.OutputBuffer{}
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the program runs", func() bool { return strings.Contains(out.String(), "ready") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.ExitCode() != 5 || !strings.Contains(out.String(), "got it") {
		t.Errorf("%v %s", err, out.String())
	}
}

func TestUndoRestoresRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := os.WriteFile(filepath.Join(p.dir, "old"), []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := p.run("echo after > old; mkdir d; echo new > d/new"); code != 0 {
		t.Fatal(stderr)
	}
	out := p.picoclaw("history").mustRun(t)
	if !strings.Contains(out, "run: sh -c echo after") || !strings.Contains(out, "of run ") {
		t.Errorf("history: %s", out)
	}
	out = p.picoclaw("undo", "--run").mustRun(t)
	if p.read("old") != "before" || !strings.Contains(p.read("d/new"), "no such file") {
		t.Errorf("%s: old is %q, d/new %q", out, p.read("old"), p.read("d/new"))
	}
	id := regexp.MustCompile(`of run (\S+) in`).FindStringSubmatch(out)[1]
	if _, stderr, code := p.run("echo second > second"); code != 0 {
		t.Fatal(stderr)
	}
	if out := p.picoclaw("history", "--run", id).mustRun(t); !strings.Contains(out, "echo after") || strings.Contains(out, "echo second") {
		t.Errorf("history of the first run: %s", out)
	}
	if out, err := p.picoclaw("undo", "--run", "none").CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no run none") {
		t.Errorf("%v %s", err, out)
	}
	if out := p.picoclaw("history", "--agent", "main").mustRun(t); strings.Contains(out, "echo after") {
		t.Errorf("the agent's own history has the run: %s", out)
	}
}

func TestProtectedFilesHold(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	_, stderr, code := p.run("echo '#!/bin/sh' > .git/hooks/pre-commit || echo refused; git config core.fsmonitor ./x; echo x > .envrc; true")
	for _, name := range []string{".git/hooks/pre-commit", ".envrc"} {
		if !strings.Contains(p.read(name), "no such file") {
			t.Errorf("%s was made: %d %s", name, code, stderr)
		}
	}
	if strings.Contains(p.read(".git/config"), "fsmonitor") {
		t.Error("git runs a program of the agent's")
	}
}

func TestNetworkIsListOnly(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	out, _, code := p.run("curl -sS --max-time 5 http://example.com/; cat /proc/net/dev")
	if code != 0 || strings.Contains(out, "eth0") {
		t.Errorf("%d %s", code, out)
	}
	audit := p.picoclaw("audit").mustRun(t)
	if !strings.Contains(audit, "example.com") || !strings.Contains(audit, "deny") {
		t.Errorf("the refusal is not in the audit log: %s", audit)
	}
}

func TestKeysStayOutside(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	dir := filepath.Join(filepath.Dir(p.dir), ".local", "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho \"$ANTHROPIC_API_KEY\"; cat ~/.claude.json; echo \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const key = "sk-ant-api03-0123456789abcdef0123456789abcdef"
	var seen []string
	for range 2 {
		cmd := p.picoclaw("run", "--", "claude", "-p", "hi")
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY="+key, "PATH="+dir+":/usr/bin:/bin")
		seen = append(seen, cmd.mustRun(t))
	}
	first, rest, _ := strings.Cut(seen[0], "\n")
	if strings.Contains(seen[0], key) || !strings.HasPrefix(first, "sk-ant-api03-") || len(first) != len(key) {
		t.Errorf("the program sees %q as the key", first)
	}
	if !strings.Contains(rest, `"hasTrustDialogAccepted": true`) || !strings.Contains(rest, p.dir) || !strings.Contains(rest, "-p hi") {
		t.Errorf("settings and arguments: %s", rest)
	}
	if again, _, _ := strings.Cut(seen[1], "\n"); again != first {
		t.Errorf("the placeholder changed: %q, %q", first, again)
	}
}

func TestWideProjectsAreRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, dir := range []string{"/", filepath.Dir(p.dir), filepath.Dir(p.home), p.home, filepath.Join(p.home, "workspace")} {
		_ = os.MkdirAll(dir, 0o700)
		out, err := p.picoclaw("run", "--project", dir, "--", "true").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "change to the directory of a project") {
			t.Errorf("%s: %v %s", dir, err, out)
		}
	}
}

func TestStopEndsRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	cmd := p.picoclaw("run", "--", "sh", "-c", "echo ready; sleep 600")
	out := clitest.OutputBuffer{}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the program runs", func() bool { return strings.Contains(out.String(), "ready") })
	p.picoclaw("stop").mustRun(t)
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "stopped") {
		t.Errorf("%v %s", err, out.String())
	}
	if left := clitest.DescendantProcesses(cmd.Process.Pid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// The program reaches neither its own undo history nor its supervisor, wherever the home is.
func TestProgramReachesNoHistory(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	if err := os.WriteFile(filepath.Join(p.dir, "f"), []byte("kept-secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := p.run(`echo x > f; for store in ` + p.home + `/runs/*/undo /run/picoclaw/undo; do
		ls "$store" && echo GOT names; cat "$store"/*; echo planted > "$store"/x && echo GOT writing; done
		for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || { echo x > $p/fd/3; cat $p/environ; ls $p/root/; } ; done
		find /run /root /home /tmp /var -name '*.tar'; true`)
	if code != 0 || strings.Contains(out, "GOT") || strings.Contains(out, "kept-secret") || strings.Contains(out, ".tar") {
		t.Errorf("%d %s%s", code, out, stderr)
	}
	p.picoclaw("undo").mustRun(t)
	if p.read("f") != "kept-secret" {
		t.Errorf("undo left %q", p.read("f"))
	}
}

// The supervisor has keys in its memory, which the program can't read.
func TestProgramReadsNoMemoryOfSupervisor(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("read.py", `
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    if open("/proc/%s/comm" % pid).read().strip() == "picoclaw":
        for name in "mem", "environ", "fd/0", "maps":
            path = "/proc/%s/%s" % (pid, name)
            try: (os.readlink if name == "fd/0" else open)(path); print("opened", name)
            except PermissionError: print("refused", name)
`)
	out, stderr, code := p.run("python3 read.py")
	if code != 0 || strings.Contains(out, "opened") || strings.Count(out, "refused") < 4 {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
}
