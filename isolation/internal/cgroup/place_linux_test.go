package cgroup

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait. It is far longer than anything takes.
const patience = 30 * time.Second

// opened returns a place for groups, or nil where this user can make none: then it is tested that it says why.
func opened(t *testing.T) *Place {
	t.Helper()
	p, err := Open()
	var why *Problem
	if err != nil && !errors.As(err, &why) {
		t.Fatal(err)
	}
	if err != nil {
		if why.Cause == "" || why.Cure == "" {
			t.Errorf("no groups here, and not a word on why or on what would help: %+v", why)
		}
		t.Log("there are no groups here: ", err)
		return nil
	}
	t.Cleanup(p.Close)
	return p
}

// held starts a shell that does what it is told, line by line, when it is told to.
type held struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func hold(t *testing.T, attr *syscall.SysProcAttr) *held {
	t.Helper()
	h := &held{cmd: exec.Command("/bin/sh")}
	h.cmd.SysProcAttr = attr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	t.Cleanup(func() { _ = h.cmd.Process.Kill(); _ = h.cmd.Wait() })
	return h
}

// do runs a line and returns the line that it prints.
func (h *held) do(t *testing.T, script string) string {
	t.Helper()
	if _, err := io.WriteString(h.in, script+"\n"); err != nil {
		t.Fatal(err)
	}
	said, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return strings.TrimSpace(said)
}

func (h *held) pids() []int { return []int{h.cmd.Process.Pid} }

// What was started before, or while this process moves, is in nobody's way.
func TestOpenWithChildren(t *testing.T) {
	p := opened(t)
	if p == nil {
		return
	}
	want := p.Bounds()
	p.Close()
	child := hold(t, nil)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // and others all the time
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("true").Run()
			}
		}
	}()
	again, err := Open()
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.Bounds(); !slices.Equal(got, want) {
		t.Errorf("%q, and without children %q: %v", got, want, again.Missing())
	}
	group, err := again.New("child", Limits{Processes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Remove()
	if err := group.Take(child.pids); err != nil {
		t.Error(err)
	}
}

// A group bounds the processes in it, those that they start, and nobody else. Three hundred sleepers are asked for.
func TestProcesses(t *testing.T) {
	p := opened(t)
	if p == nil || !slices.Contains(p.Bounds(), Processes) {
		return
	}
	// A shell that may not start another process ends.
	bomb := `n=0; while [ $n -lt 300 ]; do { sleep 60 & } 2>/dev/null || break; n=$((n+1)); done; echo $n`
	group, err := p.New("a name/../../x", Limits{Processes: 50})
	if err != nil {
		t.Fatal(err)
	}
	inside := hold(t, nil)
	if err := group.Take(inside.pids); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(inside.in, bomb+"\n") }()
	waitFor(t, "the limit is reached", func() bool { return count(group) >= 49 })
	if n := count(group); n > 50 {
		t.Errorf("%d processes in a group for 50", n)
	}
	group.Remove()
	for _, part := range group.parts {
		if _, err := os.Stat(part.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", part.dir)
		}
	}
	outside := hold(t, nil)
	if got := outside.do(t, strings.Replace(bomb, "echo $n", "echo $n; kill $(jobs -p)", 1)); got != "300" {
		t.Errorf("without a group, %s of 300 were started: the bomb is none", got)
	}
}

func count(g *Group) int { return len(processes(g.parts[len(g.parts)-1].dir)) }

func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within patience: " + what)
		}
	}
}

// Who takes more memory than the group has is ended, and only there.
func TestMemory(t *testing.T) {
	p := opened(t)
	if p == nil || !slices.Contains(p.Bounds(), Memory) {
		return
	}
	const take = `dd if=/dev/zero of=/dev/null bs=150000000 count=1 2>/dev/null && echo had it || echo ended`
	group, err := p.New("memory", Limits{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Remove()
	inside, outside := hold(t, nil), hold(t, nil)
	if err := group.Take(inside.pids); err != nil {
		t.Fatal(err)
	}
	if got := inside.do(t, take); got != "ended" {
		t.Errorf("150 MB in 64: %s", got)
	}
	if got := outside.do(t, take); got != "had it" {
		t.Errorf("without a group, 150 MB: %s", got)
	}
}

// A child can be born in a group, and the kernel ends all of a group in one step, whoever has detached himself.
func TestBirthAndKill(t *testing.T) {
	p := opened(t)
	if p == nil || !p.Kills() {
		return
	}
	group, err := p.New("kill", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Remove()
	attr := &syscall.SysProcAttr{Setsid: true}
	done, ok := group.Birth(attr)
	if !ok {
		t.Fatal("no child can be born here")
	}
	child := hold(t, attr)
	done()
	if out := group.outside(child.pids()); len(out) != 0 && p.Births() {
		t.Error("it was born outside")
	}
	pid, err := strconv.Atoi(child.do(t, "setsid sh -c 'setsid sleep 60 >/dev/null & echo $!'"))
	if err != nil {
		t.Fatal(err)
	}
	group.Kill()
	waitFor(t, "the detached one ends", func() bool { return gone(pid) })
}

// What a killed process left is ended and removed; what one that lives has is not.
func TestSweep(t *testing.T) {
	p := opened(t)
	if p == nil {
		return
	}
	own := p.used[0].own
	dead, err := os.MkdirTemp(own, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dead, "shell-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	survivor := hold(t, nil)
	if err := join(filepath.Join(dead, "shell-1"), survivor.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	sweep(own)
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a dead process left is still there")
	}
	if !gone(survivor.cmd.Process.Pid) {
		t.Error("what a dead process left still runs")
	}
	if _, err := os.Stat(p.used[0].base.dir); err != nil {
		t.Errorf("what a living process has is gone: %v", err)
	}
}

// Nothing is left behind, and this process is where it was.
func TestClose(t *testing.T) {
	before, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	p := opened(t)
	if p == nil {
		return
	}
	if _, err := p.New("left", Limits{Processes: 10}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, h := range p.used {
		if _, err := os.Stat(h.base.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", h.base.dir)
		}
	}
	if after, err := os.ReadFile("/proc/self/cgroup"); err != nil || string(after) != string(before) {
		t.Errorf("%s\nbefore:\n%s(%v)", after, before, err)
	}
}
