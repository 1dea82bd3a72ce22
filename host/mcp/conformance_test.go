//go:build long && linux

package mcp_test

import (
	"bufio"
	"bytes"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The protocol's own conformance suite, from npm, against `picoclaw mcp --http`: go test -tags long ./host/mcp

// applicable are the suite's scenarios of what this server offers. It has no prompts, no resources and no completion,
// and nothing that a model could be sampled for.
var applicable = []string{
	"server-initialize", "ping", "logging-set-level", "tools-list", "tools-call-simple-text", "tools-call-image",
	"tools-call-audio",
	"tools-call-error", "tools-call-with-progress", "tools-call-with-logging", "tools-call-mixed-content",
	"tools-call-embedded-resource",
	"tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "server-sse-multiple-streams",
	"dns-rebinding-protection",
}

func TestConformanceSuite(t *testing.T) {
	node, suite := conformanceSuite(t)
	target := serveFixture(t)
	for _, scenario := range applicable {
		t.Run(scenario, func(t *testing.T) {
			out, err := exec.Command(node, suite, "server", "--url", target, "--scenario", scenario).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte(" 0 failed")) || bytes.Contains(out, []byte("Passed: 0/")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// conformanceSuite installs the suite, and a Node.js that is recent enough for it, unless they are there already.
func conformanceSuite(t *testing.T) (node, suite string) {
	t.Helper()
	dir, err := filepath.Abs("../../bin/conformance")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/conformance", name))
		if err != nil {
			t.Fatal(err)
		}
		there, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && bytes.Equal(there, text) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node = filepath.Join(dir, "node_modules/node-linux-"+arch+"/bin/node")
	if _, err := os.Stat(node); err != nil {
		install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return node, filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
}

// serveFixture serves the fixture plugin, beside picoclaw and confined as any other, and returns a URL by which the
// suite reaches the server. The suite has no token; who stands between them adds it and changes nothing else.
func serveFixture(t *testing.T) string {
	t.Helper()
	dir := hosttest.TempDir(t)
	home, plugin, picoclaw := filepath.Join(dir, "home"), filepath.Join(dir, "plugins/conformance"),
		filepath.Join(dir, "picoclaw")
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
	server := exec.Command(picoclaw, "mcp", "--http", "127.0.0.1:0")
	server.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true", "PATH=/usr/bin:/bin"}
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
	token, err := os.ReadFile(filepath.Join(home, "mcp-token"))
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
