package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// hostEnv has this test binary play a process that is about to be killed, with its files in the directory it names.
const hostEnv = "PICOCLAW_TEST_HOST"

// playHost starts a child that is stopped from then on, writes its process id down, and waits to be killed.
func playHost(dir string) int {
	i, err := NewStarter(Config{Home: filepath.Join(dir, "home")}, nil)
	if err != nil {
		return fail(err)
	}
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return fail(err)
	}
	cmd := shell("echo $$ > " + work + "/pid; kill -STOP $$")
	cmd.Stdin = stdin
	p := Profile{Exec: true, Confine: true, ReadWrite: []string{work}, EndsItself: true}
	proc, err := i.Start(cmd, p)
	if err != nil {
		return fail(err)
	}
	stdin.Close()
	if err := os.WriteFile(filepath.Join(dir, "started"), nil, 0o600); err != nil {
		return fail(err)
	}
	<-proc.Done()
	lifeline.Close()
	return 0
}

// A child that clears up behind itself does so also when it was stopped while this process died.
func TestStoppedChildEndsWithHost(t *testing.T) {
	dir := realTemp(t)
	host := exec.Command("/proc/self/exe")
	host.Env = append(os.Environ(), hostEnv+"="+dir)
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	stopped := eventually(func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "work", "pid"))
		_, _ = fmt.Sscan(string(text), &pid)
		e, ok := proctable.Read(pid)
		_, err := os.Stat(filepath.Join(dir, "started"))
		return ok && e.State == 'T' && err == nil
	})
	if !stopped {
		t.Error("the child is not stopped")
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	if !eventually(func() bool { return !running(pid) }) {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.Errorf("the stopped child %d lives on", pid)
	}
}
