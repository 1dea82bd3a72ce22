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

// testTimeout limits every wait.
const testTimeout = 30 * time.Second

// openPlace returns a place for groups. Where this user can create none, it checks the error and returns nil.
func openPlace(t *testing.T) *Hierarchies {
	t.Helper()
	p, err := OpenHierarchies()
	var problem *UnavailableReason
	if err != nil && !errors.As(err, &problem) {
		t.Fatal(err)
	}
	if err != nil {
		if problem.Cause == "" || problem.Cure == "" {
			t.Errorf("no groups here, and not a word on why or on what would help: %+v", problem)
		}
		t.Log("there are no groups here: ", err)
		return nil
	}
	t.Cleanup(p.Close)
	return p
}

// shellProcess is a shell that runs commands sent to its standard input.
type shellProcess struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startShell(t *testing.T) *shellProcess { return startShellIn(t, nil, nil) }

// startShellIn starts a shell in a group, with attributes that EnterThread may change.
func startShellIn(t *testing.T, g *Group, attr *syscall.SysProcAttr) *shellProcess {
	t.Helper()
	h := &shellProcess{cmd: exec.Command("/bin/sh")}
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
		if leave, err = g.PrepareChildStart(attr); err != nil {
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
func (h *shellProcess) runScript(t *testing.T, script string) string {
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
	p := openPlace(t)
	if p == nil {
		return
	}
	want := p.Controllers()
	p.Close()
	startShell(t)
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
	again, err := OpenHierarchies()
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := again.Controllers(); !slices.Equal(got, want) {
		t.Errorf("%q, and without children %q: %v", got, want, again.MissingControllerReasons())
	}
}

// A group bounds the processes in it, those that they start, and nobody else. Three hundred sleepers are asked for.
func TestProcesses(t *testing.T) {
	p := openPlace(t)
	if p == nil || !slices.Contains(p.Controllers(), Processes) {
		return
	}
	// A shell that may not start another process ends.
	bomb := `n=0; while [ $n -lt 300 ]; do { sleep 60 & } 2>/dev/null || break; n=$((n+1)); done; echo $n`
	group, err := p.NewGroup("a name/../../x", GroupLimits{Processes: 50})
	if err != nil {
		t.Fatal(err)
	}
	inside := startShellIn(t, group, &syscall.SysProcAttr{})
	go func() { _, _ = io.WriteString(inside.in, bomb+"\n") }()
	waitFor(t, "the limit is reached", func() bool { return countProcesses(group) >= 49 })
	if n := countProcesses(group); n > 50 {
		t.Errorf("%d processes in a group for 50", n)
	}
	group.KillAndRemove()
	for _, part := range group.dirs {
		if _, err := os.Stat(part.path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", part.path)
		}
	}
	outside := startShell(t)
	if got := outside.runScript(t, strings.Replace(bomb, "echo $n", "echo $n; kill $(jobs -p)", 1)); got != "300" {
		t.Errorf("without a group, %s of 300 were started: the bomb is none", got)
	}
}

func countProcesses(g *Group) int { return len(listProcesses(g.dirs[len(g.dirs)-1].path)) }

func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within patience: " + what)
		}
	}
}

// Who takes more memory than the group has is ended, and only there.
func TestMemory(t *testing.T) {
	p := openPlace(t)
	if p == nil || !slices.Contains(p.Controllers(), Memory) {
		return
	}
	const take = `dd if=/dev/zero of=/dev/null bs=150000000 count=1 2>/dev/null && echo had it || echo ended`
	group, err := p.NewGroup("memory", GroupLimits{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer group.KillAndRemove()
	inside, outside := startShellIn(t, group, &syscall.SysProcAttr{}), startShell(t)
	if got := inside.runScript(t, take); got != "ended" {
		t.Errorf("150 MB in 64: %s", got)
	}
	if got := outside.runScript(t, take); got != "had it" {
		t.Errorf("without a group, 150 MB: %s", got)
	}
}

// A child starts in all parts of its group, and the thread that starts it is back where it was.
func TestEnter(t *testing.T) {
	p := openPlace(t)
	if p == nil {
		return
	}
	for name, attr := range map[string]*syscall.SysProcAttr{"directly": {}, "moved": nil} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before := membershipOf(t, "thread-self")
			group, err := p.NewGroup("enter", GroupLimits{Processes: 10})
			if err != nil {
				t.Fatal(err)
			}
			defer group.KillAndRemove()
			pid := startShellIn(t, group, attr).cmd.Process.Pid
			for _, part := range group.dirs {
				if in := listProcesses(part.path); !slices.Equal(in, []int{pid}) {
					t.Errorf("%d are in %s, want %d", in, part.path, pid)
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
	p := openPlace(t)
	if p == nil {
		return
	}
	group, err := p.NewGroup("removed", GroupLimits{})
	if err != nil {
		t.Fatal(err)
	}
	killAndRemoveGroup(group.dirs[len(group.dirs)-1].path)
	defer group.KillAndRemove()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := membershipOf(t, "thread-self")
	attr := &syscall.SysProcAttr{}
	if _, err := group.PrepareChildStart(attr); err == nil || attr.UseCgroupFD {
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
	p := openPlace(t)
	if p == nil || !slices.Contains(p.Controllers(), Processor) {
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
		group, err := p.NewGroup("weight", GroupLimits{Weight: weight})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(group.KillAndRemove)
		shell := startShellIn(t, group, &syscall.SysProcAttr{})
		if err := unix.SchedSetaffinity(shell.cmd.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
		loop, err := strconv.Atoi(shell.runScript(t, "while :; do :; done & echo $!"))
		if err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	waitFor(t, "the heavy one has run", func() bool { return cpuTicks(t, loops[0]) >= 100 })
	if heavy, light := cpuTicks(t, loops[0]), cpuTicks(t, loops[1]); light > heavy/3 {
		t.Errorf("%d ticks with the weight 50, and %d with 1000", light, heavy)
	}
}

// ticks is the processor time that a process has used, in hundredths of a second.
func cpuTicks(t *testing.T, pid int) int {
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
	p := openPlace(t)
	if p == nil || !p.CanKillGroup() {
		return
	}
	group, err := p.NewGroup("kill", GroupLimits{})
	if err != nil {
		t.Fatal(err)
	}
	defer group.KillAndRemove()
	child := startShellIn(t, group, &syscall.SysProcAttr{Setsid: true})
	pid, err := strconv.Atoi(child.runScript(t, "setsid sh -c 'setsid sleep 60 >/dev/null & echo $!'"))
	if err != nil {
		t.Fatal(err)
	}
	group.KillProcesses()
	waitFor(t, "the detached one ends", func() bool { return hasExited(pid) })
}

// What a killed process left is ended and removed; what one that lives has is not.
func TestSweep(t *testing.T) {
	p := openPlace(t)
	if p == nil {
		return
	}
	own := p.hierarchies[0].ownGroup
	dead, err := os.MkdirTemp(own, dirPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dead, "shell-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	survivor := startShell(t)
	if err := moveToGroup(filepath.Join(dead, "shell-1"), survivor.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	removeStaleBaseDirs(own)
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a dead process left is still there")
	}
	if !hasExited(survivor.cmd.Process.Pid) {
		t.Error("what a dead process left still runs")
	}
	if _, err := os.Stat(p.hierarchies[0].base.path); err != nil {
		t.Errorf("what a living process has is gone: %v", err)
	}
}

// Nothing is left behind, and this process is where it was.
func TestClose(t *testing.T) {
	before := membershipOf(t, "self")
	p := openPlace(t)
	if p == nil {
		return
	}
	if _, err := p.NewGroup("left", GroupLimits{Processes: 10}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, h := range p.hierarchies {
		if _, err := os.Stat(h.base.path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left", h.base.path)
		}
	}
	if after := membershipOf(t, "self"); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
}
