package console_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// hostile is what somebody would have run in the browser of whoever looks at it.
const hostile = `<img src=x onerror="window.xss=1">`

func TestConsoleIsDisabledByDefault(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	if out, code := in.Run(t, "console"); code != clitest.ExitFailed || !strings.Contains(out, "no gateway runs") {
		t.Errorf("without a gateway: %d %s", code, out)
	}
	server, url := in.StartGateway(t)
	if status, _ := clitest.HTTPGet(t, url+"/console/"); status != 404 {
		t.Errorf("a console that is off: %d", status)
	}
	if out, code := in.Run(t, "console"); code != clitest.ExitFailed || !strings.Contains(out, "gateway.console") {
		t.Errorf("of a gateway without one: %d %s", code, out)
	}
	clitest.StopServer(t, server)
	in.WriteConfig(t, `{"gateway": {"console": true, "host": "0.0.0.0"}}`)
	if out, code := in.Run(t, "gateway", "--port", "0"); code != clitest.ExitStart || !strings.Contains(out, "this machine alone") {
		t.Errorf("where others reach it: %d %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(in.Dir, "gateway.sock")); err == nil {
		t.Error("it has begun to serve")
	}
}

// What an agent runs can't make a link, nor act without one.
func TestNoAgentOpensTheConsole(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"gateway": {"console": true}}`)
	_, url := in.StartGateway(t)
	script := fmt.Sprintf("%s console --operate; cat %s/gateway.key; curl -s --unix-socket %[2]s/gateway.sock -X POST http://x/console; "+
		"curl -s -d token=x %s/console/login; curl -s %[3]s/console/\n", hosttest.ProgramPath("bin/picoclaw"), in.Dir, url)
	if err := os.WriteFile(filepath.Join(in.Workspace, "try.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := in.Run(t, "call", "exec", "command=sh try.sh")
	if strings.Contains(out, "login?token=") || !strings.Contains(out, "ermission denied") || !strings.Contains(out, "was used") ||
		!strings.Contains(out, "no session here") {
		t.Errorf("a command: %s", out)
	}
}
