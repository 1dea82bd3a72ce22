package isolation

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// Whatever a command detaches ends with it, also without a pid namespace, and
// what other commands have detached does not.
func TestDetachedProcessesEndWithCommand(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	i, err := NewStarter(Config{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	const sleep = "echo $$; exec sleep 300 >&-"
	for name, test := range map[string]struct {
		script string
	}{
		"a session of its own": {script: "setsid sh -c '" + sleep + "' & read forever"},
		"a double fork": {script: "(setsid sh -c '(sh -c \"" + strings.ReplaceAll(sleep, "$", `\$`) +
			"\" &)' &); read forever"},
		"without an environment": {script: "env -i /usr/bin/setsid /bin/sh -c '" + sleep + "' & read forever"},
		"ignoring signals":       {script: "setsid sh -c 'trap \"\" TERM HUP; echo $$; exec >&-; while :; do sleep 1; done' & read forever"},
	} {
		t.Run(name, func(t *testing.T) {
			other, pidOfOther := detach(t, i, "setsid sh -c '"+sleep+"' & read forever")
			p, pid := detach(t, i, test.script)
			p.letEnd(t)
			<-p.Done()
			if running(pid) {
				t.Errorf("process %d lives on", pid)
			}
			if !running(pidOfOther) {
				t.Error("what another command has detached was ended too")
			}
			other.letEnd(t)
			<-other.Done()
			if running(pidOfOther) || running(pid) {
				t.Errorf("process %d or %d lives on", pid, pidOfOther)
			}
		})
	}
}

// detached is a command that has detached something.
type detached struct {
	*Process
	stdin *os.File
}

// letEnd lets the command end by itself, as a shell does when its script
// is over.
func (d detached) letEnd(t *testing.T) {
	t.Helper()
	if err := d.stdin.Close(); err != nil {
		t.Fatal(err)
	}
}

// detach starts a script that prints the number of what it detaches, and ends
// when its standard input does.
func detach(t *testing.T, i *Starter, script string) (detached, int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Stdin, cmd.Stdout = in, w
	p, err := i.Start(cmd, Profile{Name: "test", Exec: true})
	_ = w.Close()
	_ = in.Close()
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return detached{p, hold}, pid
}

// adopt makes this process one that is given orphans, as plugins are.
func adopt(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// zombies counts the children of this process that have ended and that nobody has reaped.
func zombies() int {
	n := 0
	for _, e := range proctable.ReadAll() {
		if e.Parent == os.Getpid() && e.State == 'Z' {
			n++
		}
	}
	return n
}

// What a command leaves behind is reaped while the command runs, confined or not, with limits and without.
func TestOrphansAreReapedDuringCommand(t *testing.T) {
	adopt(t)
	for name, p := range map[string]Profile{
		"confined": {Exec: true, Confine: true, Limits: ProcessLimits{Processes: 20}},
		"free":     {Exec: true, Limits: ProcessLimits{Processes: 20}},
		"no limit": {Exec: true, Confine: true},
	} {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{})
			// One after the other: what is substituted ends when nobody has its pipe any more.
			cmd := shell("for i in $(seq 60); do x=$( (true &) ); done; echo left; read forever")
			in, stdin, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			out, stdout := pipe(t)
			cmd.Stdin, cmd.Stdout = in, stdout
			started, err := i.Start(cmd, p)
			if err != nil {
				t.Fatal(err)
			}
			_ = stdout.Close()
			said := make([]byte, len("left\n"))
			if _, err := io.ReadFull(out, said); err != nil || string(said) != "left\n" {
				t.Errorf("it says %q, %v", said, err)
			}
			if !eventually(func() bool { return zombies() == 0 }) {
				t.Errorf("%d have ended and are not reaped", zombies())
			}
			select {
			case <-started.Done():
				t.Error("the command has ended, too")
			default:
			}
			_ = stdin.Close()
			<-started.Done()
			if exit := started.exit; exit.Exceeded != "" {
				t.Errorf("what was reaped still counts: %s", exit.Exceeded)
			}
		})
	}
}

// Who does not reap its own has them counted.
func TestUnreapedZombiesCount(t *testing.T) {
	for name, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		cmd := exec.Command("/usr/bin/perl", "-e", "for (1..60) { fork or exit } sleep 30")
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		if r := outcome(t, i, cmd, Profile{Exec: true, Confine: true,
			Limits: ProcessLimits{Processes: 40}}); !strings.Contains(r.exit.Exceeded, "more than 40 processes") {
			t.Errorf("%s: %v, %q, %s", name, r.exit, r.exit.Exceeded, r.stderr)
		}
	}
}

// What ended since the last look is reaped at the next, and does not count in between, however much it is.
func TestReapedOrphansDoNotCount(t *testing.T) {
	var ended []int
	for range 4 {
		cmd := exec.Command("/bin/true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() })
		ended = append(ended, cmd.Process.Pid)
	}
	if !eventually(func() bool { return zombies() == len(ended) }) {
		t.Fatalf("%d of %d have ended", zombies(), len(ended))
	}
	if _, exceeded := findExceededLimit(ProcessLimits{Processes: 2}, ended, 0, 0); exceeded != "" {
		t.Error(exceeded)
	}
}

// Processor time counts also where it was orphans that used it, one after the other.
func TestOrphanCPUTimeCounts(t *testing.T) {
	adopt(t)
	i := configured(t, Config{})
	work := "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo $$ > next"
	cmd := shell("while :; do rm -f next; (setsid sh -c '" + work + "' &); until [ -s next ]; do sleep 0.02; done; done")
	cmd.Dir = realTemp(t)
	p := Profile{Exec: true, Confine: true, ReadWrite: []string{cmd.Dir}, Limits: ProcessLimits{CPU: time.Second}}
	if r := outcome(t, i, cmd, p); !strings.Contains(r.exit.Exceeded, "of processor time") {
		t.Errorf("%v, %q, %s", r.exit, r.exit.Exceeded, r.stderr)
	}
}

// Limits that a tree exceeds at the same time are all named.
func TestExceededLimitsAreNamedTogether(t *testing.T) {
	l := ProcessLimits{Processes: 1, Memory: 1 << 10, CPU: 1, Section: "tools.exec.limits"}
	_, exceeded := findExceededLimit(l, []int{os.Getpid()}, time.Second, 0)
	if keys := l.ReachedLimitKeys(exceeded, ""); len(keys) != 3 || keys[1] != "tools.exec.limits.memory" {
		t.Errorf("%q names %q", exceeded, keys)
	}
}
