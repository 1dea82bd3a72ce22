package mcp_test

import (
	"bufio"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// buildFixture builds picoclaw with the fixture plugin beside it, and returns the environment to run it in.
func buildFixture(t *testing.T) (picoclaw string, env []string) {
	t.Helper()
	dir := hosttest.TempDir(t)
	home, plugin := filepath.Join(dir, "home"), filepath.Join(dir, "plugins/conformance")
	picoclaw = filepath.Join(dir, "picoclaw")
	for _, made := range []string{home, plugin} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for program, pkg := range map[string]string{picoclaw: "../../cmd/picoclaw",
		filepath.Join(plugin, "conformance"): "./testdata/conformance"} {
		if err := hosttest.BuildProgram(program, pkg); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := exec.Command(filepath.Join(plugin, "conformance"), "describe").Output()
	if err == nil {
		err = os.WriteFile(filepath.Join(plugin, "plugin.json"), manifest, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return picoclaw, []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true", "PICOCLAW_TOOLS_RESOURCES=*",
		"PICOCLAW_TOOLS_PROMPTS=*", "PICOCLAW_TOOLS_SAMPLING=test_*,protocol_error_job", "PATH=/usr/bin:/bin"}
}

// serveFixture serves the fixture plugin over HTTP, and returns a URL by which the suite reaches the server. The suite
// has no token; a proxy adds it.
func serveFixture(t *testing.T, picoclaw string, env []string) string {
	t.Helper()
	server := exec.Command(picoclaw, "mcp", "--http", "127.0.0.1:0")
	server.Env = env
	stderr, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGTERM); _ = server.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "serving MCP at "), ";")
	if err != nil || !found {
		t.Fatalf("the server says %q, %v", line, err)
	}
	token, err := os.ReadFile(filepath.Join(strings.TrimPrefix(env[0], "HOME="), "mcp-token"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	between := httptest.NewServer(adding(strings.TrimSpace(string(token)), to, nil))
	t.Cleanup(between.Close)
	return between.URL + to.Path
}
