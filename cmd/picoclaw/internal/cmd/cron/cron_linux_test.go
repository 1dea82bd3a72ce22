package cron_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Jobs of an agent and of a person run, one that hangs holds up none, and none is made twice by a gateway that is
// killed.
func TestGatewayRunsJobs(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	const quiet = `, "heartbeat": {"enabled": false}, "gateway": {"drain_seconds": 1}` // what hangs does not end by itself
	in.UseFakeModel(t, quiet,
		clitest.NewToolCallReply("cron", `{"action":"add","name":"count","every_seconds":1,"command":"echo x >> count; echo counted"}`),
		clitest.NewToolCallReply("cron", `{"action":"add","name":"reboot","every_seconds":1,"command":"sudo reboot"}`),
		modeltest.ScriptedReply{Text: "Noted."}, modeltest.ScriptedReply{Text: "The tea is ready."})
	good := func(args ...string) {
		t.Helper()
		if out, code := in.Run(t, args...); code != 0 {
			t.Fatalf("%q: %s", args, out)
		}
	}
	logged := func(job, what string) {
		t.Helper()
		hosttest.WaitUntil(t, job+": "+what, func() bool {
			out, _ := in.Run(t, "cron", "log", job)
			return strings.Contains(out, what)
		})
	}
	good("agent", "-m", "count, and reboot")
	good("cron", "add", "tea", "--in", "1s", "--message", "Tell me that the tea is ready.")
	good("cron", "add", "hang", "--every", "1s", "--command", "echo x >> hang; exec sleep 3021", "--timeout", "0")
	good("cron", "add", "once", "--in", "1s", "--command", "echo x >> once; exec sleep 3022")
	gateway, _ := in.StartGateway(t)
	lines := func(file string) int {
		text, _ := os.ReadFile(filepath.Join(in.Workspace, file))
		return strings.Count(string(text), "x\n")
	}
	hosttest.WaitUntil(t, "the jobs run", func() bool { return lines("once") == 1 && lines("hang") == 1 && lines("count") >= 3 })
	logged("count", "counted")
	logged("tea", "The tea is ready.")
	logged("hang", "skipped")
	if out, _ := in.Run(t, "cron", "list"); strings.Contains(out, "reboot") || strings.Contains(out, "No job runs") {
		t.Errorf("%s", out)
	}

	if err := gateway.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = gateway.Wait()
	gateway, _ = in.StartGateway(t)
	logged("once", "picoclaw ended while it ran")
	counted := lines("count")
	hosttest.WaitUntil(t, "jobs go on", func() bool { return lines("count") > counted })
	if n := lines("once"); n != 1 {
		t.Errorf("what runs once has run %d times", n)
	}
	if out, _ := in.Run(t, "cron", "list"); strings.Contains(out, "once") {
		t.Errorf("what runs once is still there: %s", out)
	}

	in.WriteConfig(t, `{"tools": {"cron": {"allow_command": false}}`+quiet+`}`)
	good("gateway", "reload")
	logged("count", "tools.cron.allow_command is false")
	clitest.StopServer(t, gateway)
	if out, _ := in.Run(t, "cron", "list"); !strings.Contains(out, "No job runs: no gateway is running") {
		t.Errorf("%s", out)
	}
}
