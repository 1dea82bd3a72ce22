package isolation

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// detaching are scripts that leave processes behind, each with its id in the file that $1 names.
var detaching = map[string]string{
	"in the background": "sleep 300 & echo $! > $1",
	"its own session":   "setsid sleep 300 & echo $! > $1",
	"forks twice":       "(setsid sh -c 'echo $$ > '$1'; exec sleep 300' &) & wait; while ! [ -s $1 ]; do :; done",
	"ignores signals":   "setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > '$1'; while :; do sleep 1; done' & while ! [ -s $1 ]; do :; done",
	"is stopped":        "setsid sleep 300 & echo $! > $1; kill -STOP $!",
	"no environment":    "env -i setsid sleep 300 & echo $! > $1; sleep 0.1",
}

// What a child leaves behind is gone when the child is done, and what is not the child's lives on.
func TestNoProcessIsLeftBehind(t *testing.T) {
	for mode, p := range map[string]Profile{
		"by its domain": {Exec: true, Confine: true},
		"by its brand":  {Exec: true},
	} {
		for name, script := range detaching {
			t.Run(mode+"/"+name, func(t *testing.T) {
				i := configured(t, Config{})
				dir := realTemp(t)
				p := p
				p.ReadWrite = []string{dir}
				other := start(t, i, "exec sleep 300", p)
				r := outcome(t, i, script1(script, filepath.Join(dir, "pid")), p)
				if !r.exit.Success() {
					t.Fatalf("the script failed: %s", r.stderr)
				}
				if pid := pidIn(t, filepath.Join(dir, "pid")); !eventually(func() bool { return !running(pid) }) {
					_ = unix.Kill(pid, unix.SIGKILL)
					t.Errorf("process %d lives on", pid)
				}
				if !running(other.Pid()) {
					t.Error("another child was ended with it")
				}
			})
		}
	}
}

// Without domain and brand what has detached itself is not found, so what is above was shown.
func TestDetachedProcessSurvivesWithoutMark(t *testing.T) {
	i := configured(t, Config{})
	dir := realTemp(t)
	file := filepath.Join(dir, "pid")
	cmd := script1(detaching["forks twice"], file)
	cmd.SysProcAttr = childAttributes(nil)
	if err := i.starter.spawner.startProcess(cmd, unix.SIGKILL, func(start func() error) error { return start() }); err != nil {
		t.Fatal(err)
	}
	proc := i.starter.superviseChild(cmd, nil, noMark, nil, Profile{})
	if _, err := wait(t, proc); err != nil {
		t.Fatal(err)
	}
	pid := pidIn(t, file)
	if !running(pid) {
		t.Error("it is ended all the same")
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// Stopping reaches everybody, also who has detached itself and does not listen.
func TestStopSignalsDescendants(t *testing.T) {
	for mode, p := range map[string]Profile{
		"by its domain": {Exec: true, Confine: true},
		"by its brand":  {Exec: true},
	} {
		t.Run(mode, func(t *testing.T) {
			i := configured(t, Config{})
			dir := realTemp(t)
			p.ReadWrite = []string{dir}
			pids := filepath.Join(dir, "pid")
			proc := start(t, i, "(setsid sh -c 'trap \"\" TERM; echo $$ > "+pids+
				"; while :; do sleep 0.01; done' &) & exec sleep 300", p)
			pid := pidIn(t, pids)
			if _, err := proc.Stop(t.Context(), 50*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if !eventually(func() bool { return !running(pid) }) {
				t.Error("the detached process lives on")
			}
		})
	}
}

// A process that is another one every moment, each in a session of its own, can't be found in the process table. It
// never grows: it is one process at a time, and stops by itself when its directory is gone.
func TestForkingProcessIsKilled(t *testing.T) {
	i := configured(t, Config{})
	dir := realTemp(t)
	put(t, filepath.Join(dir, "hop"), "echo x >> "+dir+"/count || exit\nsetsid sh "+dir+"/hop &\n")
	proc := start(t, i, "sh "+dir+"/hop; exec sleep 300", Profile{Exec: true, Confine: true, ReadWrite: []string{dir}})
	if !eventually(func() bool { return size(filepath.Join(dir, "count")) > 20 }) {
		t.Fatal("it did not start")
	}
	proc.Kill()
	if _, err := wait(t, proc); err != nil {
		t.Fatal(err)
	}
	before := size(filepath.Join(dir, "count"))
	time.Sleep(50 * time.Millisecond) // in which it would go on
	if after := size(filepath.Join(dir, "count")); after != before {
		t.Errorf("it goes on: %d, then %d", before, after)
	}
}

// What this process adopts it also reaps.
func TestOrphansAreReaped(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	for mode, p := range map[string]Profile{
		"by its domain": {Exec: true, Confine: true},
		"by its brand":  {Exec: true},
	} {
		t.Run(mode, func(t *testing.T) {
			i := configured(t, Config{})
			dir := realTemp(t)
			p.ReadWrite = []string{dir}
			if r := outcome(t, i, script1(detaching["forks twice"], filepath.Join(dir, "pid")), p); !r.exit.Success() {
				t.Fatal(r.stderr)
			}
			pid := pidIn(t, filepath.Join(dir, "pid"))
			if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err == nil {
				t.Errorf("process %d is still in the table when its command is done", pid)
			}
		})
	}
}

// A brand can't be exchanged for that of an older child.
func TestMarkCannotBeRaised(t *testing.T) {
	i := configured(t, Config{})
	p := Profile{Exec: true, Confine: os.Getuid() == 0} // which takes root's capabilities
	if err := takeNewMark(); err != nil {
		t.Fatal(err)
	}
	if r := outcome(t, i, shell("exec prlimit --locks=unlimited:unlimited true"), p); r.exit.Success() {
		t.Error("it was raised")
	}
}

// This process is in none of the domains that it makes, although the thread of one may signal it.
func TestDomainExcludesHost(t *testing.T) {
	if landlockABI() < scopedSignals {
		return // there is no domain to tell by
	}
	i := configured(t, Config{})
	proc := start(t, i, "sleep 60", Profile{Exec: true, Confine: true})
	inside := proc.tree.(*landlockDomain).filterPIDs([]int{os.Getpid(), os.Getppid(), proc.Pid()})
	if !slices.Equal(inside, []int{proc.Pid()}) {
		t.Errorf("%d are inside, and only %d should be", inside, proc.Pid())
	}
}

// Every process has the time until it is killed to clean up, also after the shell that started it has ended.
func TestStopWaitsForDescendants(t *testing.T) {
	const server = `trap 'sleep 0.2; echo $$ > '$1'.ended; exit' TERM; echo $$ > '$1'; while :; do sleep 0.01; done`
	for mode, p := range map[string]Profile{
		"by its domain": {Exec: true, Confine: true},
		"by its brand":  {Exec: true},
	} {
		for name, script := range map[string]string{
			"a child and a command after": `sh -c "` + server + `"; echo after`,
			"a pipeline":                  `sh -c "` + server + `" | cat`,
			"in the background":           `sh -c "` + server + `" & wait`,
			"its own session":             `setsid sh -c "` + server + `" & wait`,
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				i := configured(t, Config{})
				dir := realTemp(t)
				p := p
				p.ReadWrite = []string{dir}
				file := filepath.Join(dir, "pid")
				proc, err := i.Start(script1(strings.ReplaceAll(script, "$$", `\$\$`), file), p)
				if err != nil {
					t.Fatal(err)
				}
				defer proc.Kill()
				pidIn(t, file)
				if _, err := proc.Stop(t.Context(), patience); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(file + ".ended"); err != nil {
					t.Errorf("it was killed before it had cleaned up: %v", err)
				}
			})
		}
	}
}
