package isolation

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// start starts a script that is killed at the end of the test.
func start(t testing.TB, i *Starter, script string, p Profile) *Process {
	t.Helper()
	proc, err := i.Start(shell(script), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Kill(); <-proc.Done() })
	return proc
}

// script1 is the command that runs a script with one argument.
func script1(script, argument string) *exec.Cmd {
	cmd := shell(script)
	cmd.Args = append(cmd.Args, "sh", argument)
	return cmd
}

// pidIn waits for a process id in a file.
func pidIn(t testing.TB, file string) int {
	t.Helper()
	pid := 0
	if !eventually(func() bool {
		data, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(string(data), "\n") {
			pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		}
		return err == nil && pid > 0
	}) {
		t.Fatalf("no process id in %s", file)
	}
	return pid
}

// running reports whether a process can still do something.
func running(pid int) bool {
	e, ok := proctable.Read(pid)
	return ok && e.IsAlive()
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// eventually waits until something is so, within the tests' patience.
func eventually(so func() bool) bool {
	for deadline := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
