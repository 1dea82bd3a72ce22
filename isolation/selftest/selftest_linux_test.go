package selftest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/isolation"
)

// TestMain has this test binary be the command that attacks, when it is told to, and runs the tests as root and, if
// that is who started them, once more as an unprivileged user.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		if err := RunAttacks(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if code := m.Run(); code != 0 || os.Getuid() != 0 {
		os.Exit(code)
	}
	os.Exit(unprivileged())
}

func unprivileged() int {
	dir, err := os.MkdirTemp("", "picoclaw-selftest")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	self := filepath.Join(dir, "selftest.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(self, data, 0o755)
	}
	if err == nil {
		err = os.Chown(dir, 1000, 1000)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command(self)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	if err := cmd.Run(); err != nil {
		fmt.Println("as uid 1000:", err)
		return 1
	}
	return 0
}

// attacker is a copy of this test binary, which a test may change, with the argument that makes it attack.
func attacker(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(tempDir(t), "attacker")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{path, "attack"}
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func configure(t *testing.T, enabled bool) *isolation.Starter {
	t.Helper()
	iso, err := isolation.NewStarter(isolation.Config{Enabled: enabled, Home: filepath.Join(tempDir(t), "home")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { iso.Close() })
	return iso
}

func TestSandboxResistsAttacks(t *testing.T) {
	for _, m := range []ConfinementMode{{}, {Sandboxed: true}, {Network: true}, {Sandboxed: true, Network: true}} {
		t.Run(m.reportFileName(), func(t *testing.T) {
			dir := tempDir(t)
			report, err := RunSelfTest(t.Context(), Options{Isolation: configure(t, m.Sandboxed), Network: m.Network,
				Command: attacker(t), Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.BrokenProtections(m, isolation.DetectFeatures()) {
				t.Errorf("%s: %s", r.Protection, r.Got)
			}
			for _, r := range report.Results {
				if open := r.Protection == "network" && m.Network; open == r.IsBlocked() {
					t.Errorf("%s: %q", r.Protection, r.Got)
				}
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("litter: %v %v", left, err)
			}
		})
	}
}

// Without a sandbox each of the attacks gets something, so a wall that holds is there.
func TestAttacksSucceedWithoutSandbox(t *testing.T) {
	dir := tempDir(t)
	at, done, err := createAttackTargets(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	outside, err := os.Open(at.Outside)
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	aim, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	command := attacker(t)
	cmd := exec.Command(command[0], command[1], string(aim))
	cmd.ExtraFiles = []*os.File{outside, outside}
	cmd.Env = append(os.Environ(), "A=b")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	onlyRoot := map[string]bool{"system": true, "capabilities": true}
	answers := json.NewDecoder(bytes.NewReader(out))
	for _, p := range Protections {
		var r AttackResult
		if err := answers.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Protection != p.Name || r.IsBlocked() && (os.Getuid() == 0 || !onlyRoot[p.Name]) {
			t.Errorf("%s: %+v", p.Name, r)
		}
	}
}

func TestSelfTestReportIsCached(t *testing.T) {
	command, dir := attacker(t), tempDir(t)
	o := Options{Isolation: configure(t, true), Command: command, Dir: dir}
	first, err := RunSelfTest(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, o.ConfinementMode().reportFileName())
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	marked := strings.Replace(string(data), `{"wall":"files"}`, `{"wall":"files","got":"a mark"}`, 1)
	if err := os.WriteFile(file, []byte(marked), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := RunSelfTest(t.Context(), o)
	if err != nil || again.Results[0].Got != "a mark" {
		t.Errorf("it was found out again: %+v %v", again, err)
	}
	if broken := again.BrokenProtections(o.ConfinementMode(), isolation.DetectFeatures()); len(broken) != 1 {
		t.Errorf("broken: %v", broken)
	}
	if err := os.Chtimes(command[0], time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if r, err := RunSelfTest(t.Context(), o); err != nil || r.Results[0].Got != "" || r.Identity == first.Identity {
		t.Errorf("another program is taken for the same: %+v %v", r, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := RunSelfTest(t.Context(), o); err != nil || !r.isComplete() {
		t.Errorf("a broken file: %+v %v", r, err)
	}
}

// Several hosts may find out at the same time.
func TestConcurrentStarts(t *testing.T) {
	command, dir := attacker(t), tempDir(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := RunSelfTest(t.Context(), Options{Isolation: configure(t, true), Command: command, Dir: dir}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("litter: %v %v", left, err)
	}
}
