package main

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// start starts a program that serves when it has said sign, or at once.
func (i instance) start(t *testing.T, sign string, args ...string) *exec.Cmd {
	t.Helper()
	return serving(t, i.command(i.program, args...), sign)
}

func serving(t *testing.T, cmd *exec.Cmd, sign string) *exec.Cmd {
	t.Helper()
	heard := make(chan struct{})
	said := &told{sign: sign, heard: heard}
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
	select {
	case <-heard:
	case <-time.After(20 * time.Second):
		t.Fatalf("%v does not serve: %s", cmd.Args, said)
	}
	return cmd
}

// told is what a program has said.
type told struct {
	sign  string
	heard chan struct{} // closed when it has said sign; nil after that

	mu   sync.Mutex
	text bytes.Buffer
}

func (s *told) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if _, rest, said := strings.Cut(s.text.String(), s.sign); said && s.heard != nil && strings.Contains(rest, "\n") {
		close(s.heard)
		s.heard = nil
	}
	return len(p), nil
}

func (s *told) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
