package isolation

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Nobody makes a program that runs with this user's rights for others: as root, it would be everybody's way to root.
func TestSetuidFilesAreRefused(t *testing.T) {
	if auditArch == 0 {
		return // there is no filter
	}
	for mode, enabled := range modes {
		t.Run(mode, func(t *testing.T) {
			attack := func(i *Starter) result {
				dir := realTemp(t)
				cmd := child("setid")
				cmd.Dir = dir
				return outcome(t, i, cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{dir}})
			}
			i := configured(t, Config{Enabled: enabled})
			if r := attack(i); r.stdout != "" || !r.exit.Success() {
				t.Errorf("these ways lead to one: %s%s", strings.ReplaceAll(r.stdout, "\n", " "), r.stderr)
			}
			i.starter.filter = withoutFilter
			if r := attack(i); strings.Count(r.stdout, "\n") < 7 {
				t.Errorf("without the filter only these do: %s%s", r.stdout, r.stderr)
			}
		})
	}
}

// A file that has the bit loses it when somebody confined writes to it, also as root.
func TestWriteClearsSetuidBit(t *testing.T) {
	dir := realTemp(t)
	program := put(t, dir+"/program", "old")
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	i := configured(t, Config{})
	r := outcome(t, i, shell("echo new >> "+program), Profile{Exec: true, Confine: true, ReadWrite: []string{dir}})
	info, err := os.Stat(program)
	if err != nil || !r.exit.Success() {
		t.Fatal(err, r.stderr)
	}
	if info.Mode()&os.ModeSetuid != 0 {
		t.Error("it is another program now, and has the bit still")
	}
}

// Without a pid namespace processes of the same user's can be named, but not given limits: one on processor time kills.
func TestLimitsOfOtherProcessesAreProtected(t *testing.T) {
	if auditArch == 0 {
		return
	}
	pid := outsider(t)
	attack := func(i *Starter) result {
		return outcome(t, i, child("limit", strconv.Itoa(pid)), Profile{Exec: true, Confine: true})
	}
	i := configured(t, Config{})
	if r := attack(i); r.stdout != "EPERM\n" {
		t.Errorf("it says %q%s", r.stdout, r.stderr)
	}
	i.starter.filter = withoutFilter
	if r := attack(i); r.stdout != "done\n" {
		t.Errorf("without the filter it says %q%s", r.stdout, r.stderr)
	}
}

// Nor can the kernel be had to send them a signal, for something that happens to a file.
func TestFileSignalsAreRefused(t *testing.T) {
	attack := func(i *Starter) (survived bool) {
		in, end := pipe(t)
		victim := exec.Command("cat")
		victim.Stdin = in
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		outcome(t, i, child("sigio", strconv.Itoa(victim.Process.Pid)), Profile{Exec: true, Confine: true})
		end.Close() // which ends it, unless it was
		return victim.Wait() == nil
	}
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		if !enabled && i.starter.landlock < scopedSignals {
			continue // nothing but a sandbox holds signals there
		}
		if !attack(i) {
			t.Errorf("%s: the process is ended", mode)
		}
		if i.starter.landlock = 0; attack(i) != enabled {
			t.Errorf("%s: it makes no difference that there is no Landlock", mode)
		}
	}
}

// Nor can they be made to wait for everybody else.
func TestProcessPrioritiesAreProtected(t *testing.T) {
	if auditArch == 0 {
		return
	}
	pid := outsider(t)
	attack := func(i *Starter) result {
		return outcome(t, i, child("slow", strconv.Itoa(pid)), Profile{Exec: true, Confine: true})
	}
	i := configured(t, Config{})
	if r := attack(i); r.stdout != "EPERM\nEPERM\n" {
		t.Errorf("it says %q%s", r.stdout, r.stderr)
	}
	i.starter.filter = withoutFilter
	if r := attack(i); r.stdout != "done\ndone\n" && os.Getuid() != 0 { // root's have more capabilities, which is a wall
		t.Errorf("without the filter it says %q%s", r.stdout, r.stderr)
	}
}

// Groups of processes and users are named by 0 too, which is no process of their own.
func TestGroupPrioritiesAreProtected(t *testing.T) {
	if auditArch == 0 {
		return
	}
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		attack := func() result { return outcome(t, i, child("slowAll"), Profile{Exec: true, Confine: true}) }
		if r := attack(); r.stdout != "done\ndone\nEPERM\nEPERM\nEPERM\nEPERM\n" {
			t.Errorf("%s: it says %q%s", mode, r.stdout, r.stderr)
		}
		i.starter.filter = withoutFilter
		if r := attack(); !strings.HasPrefix(r.stdout, strings.Repeat("done\n", 4)) { // users: it depends on who runs what
			t.Errorf("%s: without the filter it says %q%s", mode, r.stdout, r.stderr)
		}
	}
}

// Who may start a few programs only can't start one that is no file either: Landlock knows nothing of those.
func TestMemoryFilesCannotBeExecuted(t *testing.T) {
	if auditArch == 0 || landlockABI() == 0 {
		return
	}
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		attack := func(programs ...string) string {
			return outcome(t, i, child("memory"), Profile{Exec: true, Confine: true, Programs: programs}).stdout
		}
		if got := attack("true"); got != "EPERM\n" {
			t.Errorf("%s: %s", mode, got)
		}
		if got := attack(); got != "done\n" {
			t.Errorf("%s, with all programs: %s", mode, got)
		}
	}
}

// Shared memory of the user's other programs has neither a path nor a domain. A sandbox has its own, and so has no way
// to it; without one it is the filter that keeps it.
func TestSharedMemoryIsSeparate(t *testing.T) {
	if auditArch == 0 {
		return
	}
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.SysvShmDetach(memory) }()
	copy(memory, "canary")
	attack := func(i *Starter, p Profile) result {
		p.Exec, p.Confine = true, true
		return outcome(t, i, child("shared", strconv.Itoa(id)), p)
	}
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		if r := attack(i, Profile{}); strings.Contains(r.stdout, "canary") {
			t.Errorf("%s: it is read", mode)
		}
		i.starter.filter = withoutFilter
		if r := attack(i, Profile{}); strings.Contains(r.stdout, "canary") == enabled {
			t.Errorf("%s, without the filter: %q%s", mode, r.stdout, r.stderr)
		}
	}
}

// A command reads nothing that is typed into this user's other terminals, and writes nothing there.
func TestOtherTerminalsAreClosed(t *testing.T) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	for mode, enabled := range modes {
		i := configured(t, Config{Enabled: enabled})
		attack := func(p Profile) result {
			p.Exec, p.Confine = true, true
			return outcome(t, i, shell(fmt.Sprintf(": <> /dev/pts/%d", number)), p)
		}
		if r := attack(Profile{}); r.exit.Success() {
			t.Errorf("%s: it is opened", mode)
		}
		if r := attack(Profile{Terminals: true}); r.exit.Success() == enabled {
			t.Errorf("%s, with terminals: %v %s", mode, r.exit, r.stderr)
		}
		for name, p := range map[string]Profile{"shared memory": {ReadWrite: []string{"/dev/shm"}}, "a sandbox's": {Nested: true}} {
			if r := attack(p); r.exit.Success() != (p.Nested && !enabled) {
				t.Errorf("%s, with %s: %v %s", mode, name, r.exit, r.stderr)
			}
		}
	}
}

// outsider is a process of the same user's that belongs to nobody here.
func outsider(t *testing.T) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}
