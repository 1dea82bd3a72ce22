package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// oldKernel is the variable that has this test binary become the program that its arguments name: as it is ("new"), or
// as on a kernel without Landlock ("old").
const oldKernel = "TEST_OLD_KERNEL"

// become has this process become a program on the kernel of [oldKernel].
func become(kernel string, args []string) error {
	if kernel == "old" {
		return withoutLandlock(args)
	}
	return unix.Exec(args[0], args, os.Environ())
}

// withoutLandlock answers Landlock's system calls as a kernel does that has never heard of them, for this process and
// all that it becomes and starts, and becomes the program that args name.
func withoutLandlock(args []string) error {
	const enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 2},
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: unix.SYS_LANDLOCK_RESTRICT_SELF, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: enosys},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return unix.Exec(args[0], args, os.Environ())
}

// Where neither wall of the kernel's is to be had, the guard is strict, nothing is written to commands in the
// background, and the first result says so. On this kernel, the same calls go through.
func TestWithoutAWallTheGuardIsStrict(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	calls := strings.Join([]string{
		`{"id":1,"tool":"exec","args":{"command":"echo first"}}`,
		`{"id":2,"tool":"exec","args":{"command":"echo second"}}`,
		`{"id":3,"tool":"exec","args":{"command":"echo $(echo sub)"}}`,
		`{"id":4,"tool":"exec","args":{"command":"cat","background":true}}`,
		`{"id":5,"tool":"process","args":{"action":"write","session":"p1","data":"x\n"}}`,
	}, "\n") + "\n"
	batch := func(kernel string) []string {
		cmd := exec.Command("/proc/self/exe", filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "batch")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
			oldKernel + "=" + kernel}
		cmd.Stdin = strings.NewReader(calls)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var answers []string
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, `{"id"`) {
				answers = append(answers, line)
			}
		}
		if len(answers) != 5 {
			t.Fatalf("%d answers\n%s", len(answers), out)
		}
		return answers
	}
	for n, answer := range batch("new") {
		if !strings.Contains(answer, `"ok":true`) || strings.Contains(answer, "neither a sandbox") {
			t.Errorf("with Landlock call %d: %s", n+1, answer)
		}
	}
	old := batch("old")
	for n, want := range []string{"neither a sandbox nor Landlock", `"text":"second\n"`,
		"safety guard (dangerous pattern detected)",
		`"session":"p1"`, "writing to a background command is refused"} {
		if !strings.Contains(old[n], want) {
			t.Errorf("without Landlock call %d: %s", n+1, old[n])
		}
	}
}

// Doctor says that only the guard is left, and says it nowhere else.
func TestDoctorReportsGuardOnlyMachine(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	doctor := func(kernel string) string {
		cmd := exec.Command("/proc/self/exe", filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "doctor")
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
			oldKernel + "=" + kernel}
		out, _ := cmd.CombinedOutput() // its exit code is about what the configuration asks for
		return string(out)
	}
	const strict = "the guard uses its strict profile"
	if out := doctor("old"); !strings.Contains(out, strict) {
		t.Errorf("without Landlock:\n%s", out)
	}
	if out := doctor("new"); strings.Contains(out, strict) || !strings.Contains(out, "Landlock") {
		t.Errorf("with Landlock:\n%s", out)
	}
}

// What a command computes is left to the kernel where Landlock or a sandbox confines it; otherwise a person is asked.
func TestComputedCommandsNeedKernelConfinement(t *testing.T) {
	t.Parallel()
	home := hosttest.TempDir(t)
	for _, test := range []struct {
		name, kernel, want string
		variables          []string
	}{
		{"Landlock", "new", `"decision":"allow"`, nil},
		{"a sandbox", "old", `"decision":"allow"`, []string{"PICOCLAW_ISOLATION_ENABLED=true"}},
		{"no Landlock", "old", `"decision":"ask","rule":"exec.dynamic"`, nil},
		{"no restriction", "new", `"decision":"ask","rule":"exec.dynamic"`,
			[]string{"PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE=false"}},
		{"a sandbox, no restriction", "old", `"decision":"allow"`,
			[]string{"PICOCLAW_ISOLATION_ENABLED=true", "PICOCLAW_AGENTS_DEFAULTS_RESTRICT_TO_WORKSPACE=false"}},
	} {
		cmd := exec.Command("/proc/self/exe", filepath.Join(hosttest.ProgramDir(), "bin", "picoclaw"), "explain", "--output", "json",
			"exec", "command=$CMD x")
		cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
			oldKernel + "=" + test.kernel},
			test.variables...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v\n%s", test.name, err, out)
		}
	}
}
