package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// An identity is for what its role does, and says who the machine is.
func TestAnIdentityThatIsNotForThisIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.StartHub(t)
	file := func(name string) string { return filepath.Join(in.Dir, name+".fleet") }
	for name, added := range map[string][]string{"w1": {"worker", "--agent", "main"}, "front": {"gateway"},
		"ops": {"admin"}} {
		args := append([]string{"hub", "add", added[0], name, "--out", file(name)}, added[1:]...)
		if out, code := in.Run(t, args...); code != clitest.ExitOK {
			t.Fatal(out)
		}
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{clitest.ExitStart, "w1 is a worker in the fleet, and a gateway's",
			[]string{"call", "--fleet", file("w1"), "list_dir", "path=."}},
		{clitest.ExitStart, "w1 is a worker in the fleet, and a gateway's",
			[]string{"gateway", "--port", "0", "--fleet", file("w1")}},
		{clitest.ExitStart, "front is a gateway in the fleet, and a worker's", []string{"worker", "--fleet", file("front")}},
		{clitest.ExitStart, "ops is an admin in the fleet", []string{"worker", "--fleet", file("ops")}},
		{clitest.ExitStart, "no worker", []string{"call", "--fleet", file("ops"), "list_dir", "path=."}}, // it may
		{clitest.ExitFailed, "w1 is a worker in the fleet, and an admin's", []string{"fleet", "drain", "w1", "--fleet", file("w1")}},
		{clitest.ExitFailed, `there is no agent ">"`, []string{"fleet", "move", ">", "w1", "--fleet", file("ops")}},
		{clitest.ExitUsage, "--name can't be used", []string{"worker", "--name", "w2", "--fleet", file("w1")}},
		{clitest.ExitUsage, "--name and --credentials can't be used", []string{"worker", "--name", "w2", "--credentials", "x",
			"--fleet", file("w1")}},
		{clitest.ExitUsage, "--credentials can't be used", []string{"fleet", "status", "--credentials", "x", "--fleet", file("front")}},
	} {
		cmd := in.Command("timeout", append([]string{"60", hosttest.ProgramPath("bin/picoclaw")}, c.args...)...)
		out, _ := cmd.CombinedOutput() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("picoclaw %s: %d %s", strings.Join(c.args, " "), code, out)
		}
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "fleet", "lock")); err == nil {
		t.Error("a worker has begun")
	}
}

func TestWrongRoleIsRefusedWithoutHub(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	front, worker := filepath.Join(home.Dir, "front.fleet"), filepath.Join(home.Dir, "w1.fleet")
	for _, args := range [][]string{{"hub", "add", "gateway", "front", "--out", front}, {"hub", "add", "worker", "w1", "--agent", "main", "--out", worker}} {
		if out, code := home.Run(t, args...); code != clitest.ExitOK {
			t.Fatal(out)
		}
	}
	for _, args := range [][]string{{"worker", "--fleet", front}, {"gateway", "--fleet", worker}} {
		cmd := home.Command("timeout", append([]string{"60", home.Program}, args...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != clitest.ExitStart || !strings.Contains(string(out), "identity is needed") {
			t.Errorf("%v: %s %s", args, cmd.ProcessState, out)
		}
	}
	if out, code := home.Run(t, "hub", "witness", "nope"); code != clitest.ExitFailed || !strings.Contains(out, "there is no nope in tenant main") {
		t.Errorf("the witness of an unknown worker: %d %s", code, out)
	}
}
