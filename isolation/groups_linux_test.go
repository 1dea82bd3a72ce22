package isolation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bomb starts sleepers, once its standard input ends, until it may not or has 150, and says how many there were.
const bomb = `read -r go; n=0; while [ $n -lt 150 ]; do { sleep 60 & } 2>/dev/null || break; n=$((n+1)); echo $n > "$1"; done; sleep 60`

// groupOf is the control group that a process is in and that this process made for it; empty if there is none.
func groupOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if _, group, ok := strings.Cut(strings.TrimSpace(line), "/picoclaw-"); ok && !strings.HasSuffix(group, "/host") {
			return group
		}
	}
	return ""
}

// The group bounds what a child and all that it starts are together, in a sandbox and without; and where no group can
// be made, the child runs all the same and it is said why.
func TestGroup(t *testing.T) {
	for mode, enabled := range modes {
		t.Run(mode, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled, UseCgroups: true})
			can := slices.Contains(i.CgroupSupport().Bounds, "processes")
			if g := i.CgroupSupport(); !can && (g.Cause == "" || g.Cure == "") {
				t.Errorf("%+v: it does not say why, or not what would help", g)
			}
			dir := realTemp(t)
			run := func(g GroupLimits, until func(n int) bool) {
				count := dir + "/count"
				_ = os.Remove(count)
				in, go_ := pipe(t)
				cmd := script1(bomb, count)
				cmd.Stdin = in
				proc, err := i.Start(cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{dir}, Group: g})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { proc.Kill(); <-proc.Done() }()
				in.Close()
				if g.Processes > 0 && can && !allInGroups(proc) {
					t.Fatal("the process is in no group of its own")
				}
				go_.Close()
				if !eventually(func() bool { return until(number(count)) }) {
					t.Errorf("%+v: %d were started", g, number(count))
				}
			}
			run(GroupLimits{}, func(n int) bool { return n == 150 })
			if !can {
				run(GroupLimits{Processes: 50}, func(n int) bool { return n == 150 })
				return
			}
			still := 0
			run(GroupLimits{Processes: 50}, func(n int) bool {
				if still++; n > 50 {
					t.Fatalf("%d were started", n)
				}
				return n > 30 && still > 300 // and does not grow
			})
		})
	}
}

// allInGroups reports whether whatever belongs to the process is in a group.
func allInGroups(p *Process) bool {
	members := []int{p.pid}
	if tree, ok := p.tree.(*sandboxProcessTree); ok {
		members = tree.listMembers()
	}
	return !slices.ContainsFunc(members, func(pid int) bool { return groupOf(pid) == "" })
}

func number(file string) (n int) {
	text, err := os.ReadFile(file)
	if err == nil {
		_, _ = fmt.Sscan(string(text), &n)
	}
	return n
}

// A group ends with its child, and all groups with the isolation.
func TestGroupsAreRemoved(t *testing.T) {
	i := configured(t, Config{UseCgroups: true})
	proc := start(t, i, "sleep 60", Profile{Exec: true, Group: GroupLimits{Processes: 50}})
	if len(i.CgroupSupport().Bounds) == 0 && !i.CgroupSupport().Kill {
		return // TestGroup looks that it says why
	}
	if groupOf(proc.Pid()) == "" {
		t.Fatal("it has none")
	}
	proc.Kill()
	<-proc.Done()
	if !eventually(func() bool { return len(i.starter.groups.hierarchies.GroupDirs()) == 0 }) {
		t.Errorf("%q are left", i.starter.groups.hierarchies.GroupDirs())
	}
}

// What detaches itself and bears no mark is ended by its group, where the kernel does that; without a group it lives
// on, as TestDetachedProcessSurvivesWithoutMark shows.
func TestGroupKillsDetachedProcesses(t *testing.T) {
	i := configured(t, Config{UseCgroups: true})
	if !i.CgroupSupport().Kill {
		return
	}
	file := realTemp(t) + "/pid"
	cmd := script1("read -r go; "+detaching["forks twice"], file)
	in, go_ := pipe(t)
	cmd.Stdin = in
	cmd.SysProcAttr = childAttributes(nil)
	own := i.starter.groups.createChildGroup(Profile{Group: GroupLimits{Processes: 50}})
	around := func(start func() error) error { return own.startInCgroup(cmd, true, start) }
	if err := i.starter.spawner.startProcess(cmd, unix.SIGKILL, around); err != nil {
		t.Fatal(err)
	}
	proc := i.starter.superviseChild(cmd, nil, noMark, own, Profile{})
	i.trackRunning(proc)
	if groupOf(proc.Pid()) == "" {
		t.Fatal("it has none")
	}
	go_.Close()
	if _, err := wait(t, proc); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, file)
	if !eventually(func() bool { return !running(pid) }) {
		t.Error("it lives on")
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// BenchmarkGroup is what a group costs a start, next to the same start without.
func BenchmarkGroup(b *testing.B) {
	for name, g := range map[string]GroupLimits{"without": {}, "with": {Processes: 100, Memory: 1 << 30}} {
		for mode, enabled := range modes {
			b.Run(mode+"/"+name, func(b *testing.B) {
				i := configured(b, Config{Enabled: enabled, UseCgroups: true})
				_ = i.CgroupSupport()
				var sum time.Duration
				for b.Loop() {
					began := time.Now()
					proc, err := i.Start(shell("exit 0"), Profile{Exec: true, Confine: true, Group: g})
					sum += time.Since(began)
					if err != nil {
						b.Fatal(err)
					}
					<-proc.Done()
				}
				b.ReportMetric(float64(sum.Microseconds())/float64(b.N), "µs/start")
			})
		}
	}
}
