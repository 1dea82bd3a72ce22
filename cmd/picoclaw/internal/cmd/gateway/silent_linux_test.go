package gateway_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// Control commands have deadlines: a gateway that is paused does not make them hang.
func TestControlCommandsReportPausedGateway(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	home.WriteConfig(t, `{"gateway": {"console": true}}`)
	server, url := home.StartGateway(t)
	token := home.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	answered := make(chan string, 1)
	go func() {
		answered <- clitest.CallToolHTTP(t, url+"/mcp", token, "exec", `{"command":"touch made"}`, session)
	}()
	id := home.AwaitApprovalRequests(t, 1)[0].ID
	if err := server.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	paused := fmt.Sprintf("the gateway (process %d) does not answer", server.Process.Pid)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{clitest.ExitFailed, paused, []string{"gateway", "status"}},
		{clitest.ExitFailed, paused, []string{"gateway", "status", "--output", "json"}},
		{clitest.ExitFailed, paused, []string{"gateway", "reload"}},
		{clitest.ExitFailed, paused, []string{"console"}},
		{clitest.ExitOK, id, []string{"approvals"}},
		{clitest.ExitOK, "touch made", []string{"approvals", "show", id}},
		{clitest.ExitFailed, "does not answer", []string{"approvals", "allow", id}},
		{clitest.ExitFailed, "does not answer", []string{"approvals", "deny", id}},
		{clitest.ExitFailed, fmt.Sprintf("picoclaw process %d may still run", server.Process.Pid), []string{"stop"}},
		{clitest.ExitOK, paused, []string{"start"}},
	} {
		cmd := home.Command("timeout", append([]string{"30", home.Program}, c.args...)...)
		out, _ := cmd.CombinedOutput() // the exit code says it
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %d %s; want %d %q", c.args, code, out, c.code, c.want)
		}
		t.Logf("%v: %s", c.args, out)
	}
	if err := server.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if out, code := home.Run(t, "gateway", "status"); code != clitest.ExitOK {
		t.Errorf("a gateway that goes on: %d %s", code, out)
	}
	if out, code := home.Run(t, "approvals", "deny", id); code != clitest.ExitOK {
		t.Errorf("a call of a gateway that goes on: %d %s", code, out)
	}
	<-answered
}
