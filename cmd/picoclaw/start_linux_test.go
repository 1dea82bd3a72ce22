package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// start starts a program that serves when it has said sign, or at once.
func (i instance) start(t *testing.T, sign string, args ...string) *exec.Cmd {
	t.Helper()
	return serving(t, i.command(i.program, args...), sign)
}

func serving(t *testing.T, cmd *exec.Cmd, sign string) *exec.Cmd {
	t.Helper()
	said := &told{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			stop(t, cmd)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Args[1], said)
		}
	})
	if sign == "" {
		return cmd
	}
	hosttest.Eventually(t, fmt.Sprintf("%v says %q", cmd.Args, sign), func() bool {
		_, rest, found := strings.Cut(said.String(), sign)
		return found && strings.Contains(rest, "\n")
	})
	return cmd
}

// told is what a program has said.
type told struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *told) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *told) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
