package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/pidfile"
)

func TestGatewayStatus(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"agents": {"list": [{"id": "main"}, {"id": "reader", "tools": {"disabled": ["exec"]}}]}}`)
	if out, code := in.Run(t, "gateway", "status"); code != clitest.ExitFailed || !strings.Contains(out, "no gateway runs") {
		t.Errorf("without a gateway: %d %s", code, out)
	}
	for _, port := range []string{"65536", "-2"} {
		if out, code := in.Run(t, "gateway", "--port", port); code != clitest.ExitUsage || !strings.Contains(out, "want 0 to 65535") {
			t.Errorf("port %s: %d %s", port, code, out)
		}
	}
	// what a container has left whose volume this is
	if err := os.WriteFile(filepath.Join(in.Dir, pidfile.FileName), []byte(`{"pid":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	server, url := in.StartGateway(t)
	if status, text := clitest.HTTPGet(t, url+"/health"); status != 200 || !strings.Contains(text, fmt.Sprint(server.Process.Pid)) {
		t.Errorf("/health: %d %s", status, text)
	}
	if status, text := clitest.HTTPGet(t, url+"/ready"); status != 200 || !strings.Contains(text, `"isolation","status":"ok"`) {
		t.Errorf("/ready: %d %s", status, text)
	}
	if info, err := os.Stat(filepath.Join(in.Dir, "gateway.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the control socket: %v %v", info, err)
	}
	// Commands that no sandbox keeps from the socket don't have its key.
	stranger := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(in.Dir, "gateway.sock"))
		}}}
	for _, path := range []string{"reload", "status"} {
		response, err := stranger.Post("http://gateway/"+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without the key: %s", path, response.Status)
		}
	}
	// Each agent has a token of its own, and what it opens is that agent.
	main, reader := in.GatewayToken(t, "main"), in.GatewayToken(t, "reader")
	session := clitest.OpenHTTPSession(t, url+"/mcp", main)
	if answer := clitest.CallToolHTTP(t, url+"/mcp", main, "exec", `{"command":"echo x"}`, session); !strings.Contains(answer, `x`) ||
		strings.Contains(answer, `"isError":true`) {
		t.Errorf("exec by main: %s", answer)
	}
	session = clitest.OpenHTTPSession(t, url+"/mcp/reader", reader)
	if answer := clitest.CallToolHTTP(t, url+"/mcp/reader", reader, "exec", `{"command":"echo x"}`, session); strings.Contains(answer,
		`"text":"x`) {
		t.Errorf("exec by reader: %s", answer)
	}
	for _, c := range []struct {
		path, token string
		want        int
	}{{"/mcp", reader, 401}, {"/mcp/reader", main, 401}, {"/mcp/main", main, 200}, {"/mcp/nobody", main, 404},
		{"/mcp/", main, 404}, {"/mcp/reader/", reader, 200}, {"/mcp/main/reader", reader, 401}, {"/mcp/main/reader", main, 404}, {"/mcp/%2e%2e/main", main, 404}} {
		if status, answer, _ := clitest.PostMCP(t, url+c.path, c.token, clitest.InitializeMessage, nil); status != c.want {
			t.Errorf("%s: %d %s; want %d", c.path, status, answer, c.want)
		}
	}
	for _, path := range []string{"/health", "/ready", "/metrics"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "attacker.example" // a name that somebody has pointed here
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Errorf("%s by another name: %s", path, response.Status)
		}
	}
	if _, text := clitest.HTTPGet(t, url+"/metrics"); !strings.Contains(text,
		`picoclaw_call_duration_seconds_count{agent="main",decision="allow",outcome="ok",tool="shell.exec"} 1`) {
		t.Errorf("/metrics: %s", text)
	}
	out, code := in.Run(t, "gateway", "status", "--output", "json")
	var status gateway.Status
	if err := json.Unmarshal([]byte(out), &status); err != nil || code != 0 || !status.Ready || status.Address != url {
		t.Errorf("status: %d %s", code, out)
	}
	second, code := in.Run(t, "gateway", "--port", "0")
	if code != clitest.ExitStart || !strings.Contains(second, fmt.Sprint(server.Process.Pid)) {
		t.Errorf("a second gateway: %d %s", code, second)
	}
	clitest.StopServer(t, server)
	for _, name := range []string{pidfile.FileName, "gateway.sock", "gateway.key"} {
		if _, err := os.Stat(filepath.Join(in.Dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestReloadWithoutConfigurationFails(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"tools": {"disabled": ["exec"]}}`)
	server, _ := in.StartGateway(t)
	file := filepath.Join(in.Dir, "config.json")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if out, code := in.Run(t, "gateway", "reload"); code != clitest.ExitFailed || !strings.Contains(out, file+" is missing") {
		t.Errorf("reload: %d %s", code, out)
	}
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	said := server.Stderr.(*clitest.OutputBuffer)
	hosttest.WaitUntil(t, "the log has it twice", func() bool { return strings.Count(said.String(), "config.json is missing") == 2 })
	if out, _ := in.Run(t, "gateway", "status"); !strings.Contains(out, "config.json is missing") {
		t.Errorf("status: %s", out)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	if out, code := in.Run(t, "gateway", "reload"); code != clitest.ExitOK {
		t.Errorf("reload with the file: %d %s", code, out)
	}
}

func TestBrokenJobsAreNotReady(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	if out, code := in.Run(t, "cron", "add", "daily", "--every", "1d", "--message", "hello"); code != clitest.ExitOK {
		t.Fatal(out)
	}
	_, url := in.StartGateway(t)
	jobs := filepath.Join(in.Dir, "schedule", "main", "jobs.json")
	if err := os.Rename(jobs, jobs+".away"); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "/ready names the file", func() bool {
		status, text := clitest.HTTPGet(t, url+"/ready")
		return status == http.StatusServiceUnavailable && strings.Contains(text, jobs)
	})
	if out, code := in.Run(t, "gateway", "status"); code != clitest.ExitFailed || !strings.Contains(out, jobs+" is missing") {
		t.Errorf("status: %d %s", code, out)
	}
	if err := os.Rename(jobs+".away", jobs); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "it is ready", func() bool { _, code := in.Run(t, "gateway", "status"); return code == clitest.ExitOK })
}

// A new configuration is for who comes from then on; a bad one changes nothing.
func TestReloadKeepsOpenSessions(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	with := `{"tools": {"disabled": ["rm"]}}`
	in.WriteConfig(t, with)
	server, url := in.StartGateway(t)
	token := in.GatewayToken(t, "main")
	before := clitest.OpenHTTPSession(t, url+"/mcp", token)
	allowed := func(session map[string]string) bool {
		answer := clitest.CallToolHTTP(t, url+"/mcp", token, "exec", `{"command":"echo x"}`, session)
		return strings.Contains(answer, `"text":"x`)
	}
	if !allowed(before) {
		t.Fatal("exec is not allowed to begin with")
	}
	in.WriteConfig(t, `{"tools": {"disabled": ["exec"]}`+"\n")
	if out, code := in.Run(t, "gateway", "reload"); code != clitest.ExitFailed || !strings.Contains(out, "config.json") {
		t.Errorf("a broken configuration: %d %s", code, out)
	}
	if session := clitest.OpenHTTPSession(t, url+"/mcp", token); !allowed(session) {
		t.Error("a broken configuration has changed what a new session may do")
	}
	in.WriteConfig(t, `{"tools": {"disabled": ["exec"]}}`)
	if out, code := in.Run(t, "gateway", "reload"); code != 0 {
		t.Fatalf("%d %s", code, out)
	}
	after := clitest.OpenHTTPSession(t, url+"/mcp", token)
	if allowed(after) || !allowed(before) {
		t.Errorf("after the reload a new session may: %v, the one before: %v", allowed(after), allowed(before))
	}
	in.WriteConfig(t, with)
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "SIGHUP is heeded", func() bool { return allowed(clitest.OpenHTTPSession(t, url+"/mcp", token)) })
	if allowed(after) {
		t.Error("a session has got more by a reload")
	}
	clitest.StopServer(t, server)
}

// A client that has gone does not keep configurations in use without end.
func TestConfigurationsInUseAreBounded(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	server, url := in.StartGateway(t)
	token := in.GatewayToken(t, "main")
	for range 12 {
		clitest.OpenHTTPSession(t, url+"/mcp", token)
		if out, code := in.Run(t, "gateway", "reload"); code != 0 {
			t.Fatal(out)
		}
	}
	hosttest.WaitUntil(t, "the oldest are ended", func() bool {
		out, _ := in.Run(t, "gateway", "status", "--output", "json")
		var status gateway.Status
		return json.Unmarshal([]byte(out), &status) == nil && len(status.Configurations) <= 8
	})
	clitest.StopServer(t, server)
}

// The end waits for what runs, for as long as it may.
func TestGatewayDrainsOnShutdown(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"gateway": {"drain_seconds": 60}}`)
	server, url := in.StartGateway(t)
	token := in.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	answered := make(chan string)
	go func() {
		answered <- clitest.CallToolHTTP(t, url+"/mcp", token, "exec",
			`{"command":"touch begun; while [ ! -e go ]; do sleep 0.05; done; echo finished"}`, session)
	}()
	at := func(name string) string { return filepath.Join(in.Workspace, name) }
	hosttest.WaitUntil(t, "the command runs", func() bool { _, err := os.Stat(at("begun")); return err == nil })
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "nobody new is let in", func() bool {
		response, err := http.Get(url + "/ready")
		if err != nil {
			t.Error(err)
			return true
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusServiceUnavailable
	})
	if status, answer, _ := clitest.PostMCP(t, url+"/mcp", token, clitest.InitializeMessage, nil); status != http.StatusServiceUnavailable {
		t.Errorf("a new session: %d %s", status, answer)
	}
	if err := os.WriteFile(at("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if answer := <-answered; !strings.Contains(answer, "finished") {
		t.Errorf("the call: %s", answer)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// A stop ends what runs on all hosts of an instance root, within a second, and keeps new calls out.
func TestStopReachesAllHosts(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{"agents": {"list": [{"id": "main"}, {"id": "other"}]}}`)
	_, url := in.StartGateway(t)
	token := in.GatewayToken(t, "main")
	session := clitest.OpenHTTPSession(t, url+"/mcp", token)
	ended := make(chan string, 3)
	command := func(name string) string {
		return fmt.Sprintf(`{"command":"echo $$ > %s; exec sleep 3054"}`, name)
	}
	go func() { ended <- clitest.CallToolHTTP(t, url+"/mcp", token, "exec", command("a"), session) }()
	for _, c := range []struct{ name, agent string }{{"b", "main"}, {"c", "other"}} {
		var out bytes.Buffer
		cmd := in.Command(hosttest.ProgramPath("bin/picoclaw"), "call", "exec", "--agent", c.agent, "--json", command(c.name))
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		go func() {
			_ = cmd.Wait()
			ended <- out.String()
		}()
	}
	if answer := clitest.CallToolHTTP(t, url+"/mcp", token, "exec", `{"command":"echo $$ > d; exec sleep 3055","background":true}`,
		session); strings.Contains(answer, `"isError":true`) {
		t.Fatal(answer)
	}
	pid := func(name string) (pid int) {
		hosttest.WaitUntil(t, name+" runs", func() bool {
			text, _ := os.ReadFile(filepath.Join(in.Dir, name))
			_, _ = fmt.Sscan(string(text), &pid)
			return pid != 0
		})
		return pid
	}
	pids := []int{pid("workspace/a"), pid("workspace/b"), pid("workspace/d")}
	other := pid("workspace-other/c")
	if out, code := in.Run(t, "stop", "--agent", "main", "--why", "it loops"); code != 0 {
		t.Fatal(out)
	}
	for range 2 {
		if text := receive(t, ended); !strings.Contains(text, "it loops") {
			t.Errorf("a call that was ended: %s", text)
		}
	}
	for _, pid := range pids {
		hosttest.WaitUntil(t, "its commands have ended", func() bool { return !hosttest.IsProcessAlive(pid) })
	}
	if !hosttest.IsProcessAlive(other) {
		t.Error("another agent's command has ended")
	}
	if answer := clitest.CallToolHTTP(t, url+"/mcp", token, "list_dir", `{"path":"."}`, session); !strings.Contains(answer, "it loops") {
		t.Errorf("a new call: %s", answer)
	}
	// It works with a configuration that does not.
	in.WriteConfig(t, `{`)
	if out, code := in.Run(t, "stop"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if text := receive(t, ended); !strings.Contains(text, "picoclaw start") {
		t.Errorf("a call of the other agent: %s", text)
	}
	if out, code := in.Run(t, "start"); code != 0 || !strings.Contains(out, "Agent main is stopped") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := in.Run(t, "start", "--agent", "main"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if answer := clitest.CallToolHTTP(t, url+"/mcp", token, "list_dir", `{"path":"."}`, session); strings.Contains(answer,
		`"isError":true`) {
		t.Errorf("after the start: %s", answer)
	}
}

// receive returns the next text from a channel, which has to arrive.
func receive(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case text := <-from:
		return text
	case <-time.After(30 * time.Second):
		t.Fatal("nothing has ended within half a minute")
		return ""
	}
}

// In a container the gateway is process 1, as was the one before, whose pid file is on the volume.
func TestGatewayRunsAsProcessOne(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	start := func() (container *exec.Cmd, first int) {
		args := []string{"--pid", "--fork", "--mount-proc", "--kill-child", hosttest.ProgramPath("bin/picoclaw"), "gateway", "--port", "0"}
		if os.Getuid() != 0 {
			args = append([]string{"--user", "--map-root-user"}, args...)
		}
		container = in.Command("/usr/bin/unshare", args...)
		stderr, err := container.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := container.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = container.Process.Kill(); _ = container.Wait() })
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "the gateway serves at") {
				go func() { _, _ = io.Copy(io.Discard, stderr) }()
				task := fmt.Sprintf("/proc/%d/task/%[1]d/children", container.Process.Pid)
				text, err := os.ReadFile(task)
				if _, scanErr := fmt.Sscan(string(text), &first); err != nil || scanErr != nil {
					t.Fatalf("%v %v", err, scanErr)
				}
				return container, first
			}
			t.Log(lines.Text())
		}
		t.Fatal("the gateway has ended")
		return nil, 0
	}
	container, first := start()
	text, err := os.ReadFile(filepath.Join(in.Dir, pidfile.FileName))
	if err != nil || !strings.Contains(string(text), `"pid":1,`) {
		t.Fatalf("%v %s", err, text)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil { // as the machine's end is
		t.Fatal(err)
	}
	_ = container.Wait()
	if _, err := os.Stat(filepath.Join(in.Dir, pidfile.FileName)); err != nil {
		t.Fatalf("nothing is left on the volume: %v", err)
	}
	container, first = start()
	if out, code := in.Run(t, "gateway", "status"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := container.Wait(); err != nil {
		t.Errorf("told to stop, it has ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(in.Dir, pidfile.FileName)); err == nil {
		t.Error("the pid file is still there")
	}
}

// A start that follows a stop at once does not keep it from ending what runs.
func TestStartDoesNotOvertakeStop(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	in.WriteConfig(t, `{}`)
	ended := make(chan string, 1)
	go func() {
		out, _ := in.Run(t, "call", "exec", "--json", `{"command":"touch begun; exec sleep 3056"}`)
		ended <- out
	}()
	hosttest.WaitUntil(t, "the command runs", func() bool {
		_, err := os.Stat(filepath.Join(in.Workspace, "begun"))
		return err == nil
	})
	for _, verb := range []string{"stop", "start"} {
		if out, code := in.Run(t, verb); code != 0 {
			t.Fatal(out)
		}
	}
	if text := <-ended; !strings.Contains(text, "the operator has stopped this") {
		t.Errorf("the call: %s", text)
	}
}
