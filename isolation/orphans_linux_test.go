package isolation

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
)

// Whatever a command detaches ends with it, also without a pid namespace, and
// what other commands have detached does not. Who takes off its mark may be
// somebody else's, and ends with the last who it can belong to.
func TestWhatACommandDetachesEndsWithIt(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	i, err := Configure(Config{}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	const sleep = "echo $$; exec sleep 300 >&-"
	for name, test := range map[string]struct {
		script    string
		ambiguous bool
	}{
		"a session of its own": {script: "setsid sh -c '" + sleep + "' & read forever"},
		"a double fork":        {script: "(setsid sh -c '(sh -c \"" + strings.ReplaceAll(sleep, "$", `\$`) + "\" &)' &); read forever"},
		"without its mark":     {script: "env -i /usr/bin/setsid /bin/sh -c '" + sleep + "' & read forever", ambiguous: true},
		"ignoring signals":     {script: "setsid sh -c 'trap \"\" TERM HUP; echo $$; exec >&-; while :; do sleep 1; done' & read forever"},
	} {
		t.Run(name, func(t *testing.T) {
			other, pidOfOther := detach(t, i, "setsid sh -c '"+sleep+"' & read forever")
			p, pid := detach(t, i, test.script)
			p.letEnd(t)
			<-p.Done()
			if running(pid) != test.ambiguous {
				t.Errorf("process %d lives: %t", pid, running(pid))
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

// detaching is a command that has detached something.
type detaching struct {
	*Process
	stdin *os.File
}

// letEnd lets the command end by itself, as a shell does when its script
// is over.
func (d detaching) letEnd(t *testing.T) {
	t.Helper()
	if err := d.stdin.Close(); err != nil {
		t.Fatal(err)
	}
}

// detach starts a script that prints the number of what it detaches, and ends
// when its standard input does.
func detach(t *testing.T, i *Isolation, script string) (detaching, int) {
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
	return detaching{p, hold}, pid
}

// running reports whether a process has not ended, and does not within a
// moment.
func running(pid int) bool {
	for range 20 {
		e, ok := readProc(pid)
		if !ok || !e.alive() {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}
