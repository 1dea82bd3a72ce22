package cgroup

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

func hold(t *testing.T) *held { return holdIn(t, nil, nil) }

// holdIn starts the shell in a group, with attributes that Enter may change.
func holdIn(t *testing.T, g *Group, attr *syscall.SysProcAttr) *held {
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
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave := func(int) error { return nil }
	if g != nil {
		if leave, err = g.Enter(attr); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, leave(0)))
	}
	if err := leave(h.cmd.Process.Pid); err != nil {
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

// What was started before, or while this process moves, is in nobody's way.
func TestOpenWithChildren(t *testing.T) {
	p := opened(t)
	if p == nil {
		return
	}
	want := p.Bounds()
	p.Close()
	hold(t)
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
	inside := holdIn(t, group, &syscall.SysProcAttr{})
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
	outside := hold(t)
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
	inside, outside := holdIn(t, group, &syscall.SysProcAttr{}), hold(t)
	if got := inside.do(t, take); got != "ended" {
		t.Errorf("150 MB in 64: %s", got)
	}
	if got := outside.do(t, take); got != "had it" {
		t.Errorf("without a group, 150 MB: %s", got)
	}
}

// A child starts in all parts of its group, and the thread that starts it is back where it was.
func TestEnter(t *testing.T) {
	p := opened(t)
	if p == nil {
		return
	}
	for name, attr := range map[string]*syscall.SysProcAttr{"directly": {}, "moved": nil} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before := membershipOf(t, "thread-self")
			group, err := p.New("enter", Limits{Processes: 10})
			if err != nil {
				t.Fatal(err)
			}
			defer group.Remove()
			pid := holdIn(t, group, attr).cmd.Process.Pid
			for _, part := range group.parts {
				if in := processes(part.dir); !slices.Equal(in, []int{pid}) {
					t.Errorf("%d are in %s, want %d", in, part.dir, pid)
				}
			}
			if after := membershipOf(t, "thread-self"); after != before {
				t.Errorf("%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Failing to enter leaves the thread where it was.
func TestEnterRemovedGroup(t *testing.T) {
	p := opened(t)
	if p == nil {
		return
	}
	group, err := p.New("removed", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	remove(group.parts[len(group.parts)-1].dir)
	defer group.Remove()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := membershipOf(t, "thread-self")
	attr := &syscall.SysProcAttr{}
	if _, err := group.Enter(attr); err == nil || attr.UseCgroupFD {
		t.Errorf("error %v, %+v", err, attr)
	}
	if after := membershipOf(t, "thread-self"); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
}

func membershipOf(t *testing.T, process string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + process + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The processor is shared out by weight.
func TestWeight(t *testing.T) {
	p := opened(t)
	if p == nil || !slices.Contains(p.Bounds(), Processor) {
		return
	}
	var on, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &on); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if on.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	var loops []int
	for _, weight := range []int{1000, 50} {
		group, err := p.New("weight", Limits{Weight: weight})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(group.Remove)
		shell := holdIn(t, group, &syscall.SysProcAttr{})
		if err := unix.SchedSetaffinity(shell.cmd.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
		loop, err := strconv.Atoi(shell.do(t, "while :; do :; done & echo $!"))
		if err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	waitFor(t, "the heavy one has run", func() bool { return ticks(t, loops[0]) >= 100 })
	if heavy, light := ticks(t, loops[0]), ticks(t, loops[1]); light > heavy/3 {
		t.Errorf("%d ticks with the weight 50, and %d with 1000", light, heavy)
	}
}

// ticks is the processor time that a process has used, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	used, err := strconv.Atoi(fields[11])
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// The kernel ends all of a group in one step, whoever has detached himself.
func TestGroupKill(t *testing.T) {
	p := opened(t)
	if p == nil || !p.Kills() {
		return
	}
	group, err := p.New("kill", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Remove()
	child := holdIn(t, group, &syscall.SysProcAttr{Setsid: true})
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
	survivor := hold(t)
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
	before := membershipOf(t, "self")
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
	if after := membershipOf(t, "self"); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
}
