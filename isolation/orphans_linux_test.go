package isolation

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
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
