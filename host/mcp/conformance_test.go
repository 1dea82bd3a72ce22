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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The protocol's own conformance suite, from npm, against `picoclaw mcp`: go test -tags long ./host/mcp -run Conformance

// failing are the suite's scenarios that fail, by the feature that they need and this server doesn't have.
var failing = map[string][]string{
	"completion": {"completion-complete"},
	"resources": {"resources-read-text", "resources-read-binary", "resources-templates-read", "resources-subscribe",
		"resources-unsubscribe"},
	"prompts": {"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
		"input-required-result-non-tool-request"},
	"sampling": {"server-stateless", "tools-call-sampling", "input-required-result-basic-sampling",
		"input-required-result-multiple-input-requests", "input-required-result-capability-check"},
	"roots for tools": {"input-required-result-basic-list-roots"},
	"the extension for tasks": {"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
		"tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope",
		"tasks-required-task-error", "tasks-mrtr-composition"},
	"keywords of JSON Schema": {"json-schema-2020-12"},
	"parameters in headers":   {"http-custom-header-server-validation"},
}

func TestConformanceSuite(t *testing.T) {
	node, suite := conformanceSuite(t)
	picoclaw, env := buildFixture(t)
	for transport, target := range map[string]string{"http": serveFixture(t, picoclaw, env), "stdio": bridgeFixture(t, picoclaw, env)} {
		for _, revision := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(transport+"/"+revision, func(t *testing.T) {
				checkScenarios(t, exec.Command(node, suite, "server", "--url", target, "--requirements", revision), transport)
			})
		}
	}
}

// onlyHTTP are scenarios of the HTTP transport.
var onlyHTTP = []string{"dns-rebinding-protection", "http-header-validation"}

// scenarioResult matches a scenario's line in the suite's summary.
var scenarioResult = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed`)

// checkScenarios runs scenarios, and checks that those fail that are listed as failing.
func checkScenarios(t *testing.T, run *exec.Cmd, transport string) {
	t.Helper()
	out, _ := run.CombinedOutput() // exit status 1 is a scenario that fails
	var want, got []string
	ran := 0
	for _, result := range scenarioResult.FindAllStringSubmatch(string(out), -1) {
		ran++
		name, failed := result[1], result[3] != "0"
		if failed {
			got = append(got, name)
		}
		if transport == "stdio" && slices.Contains(onlyHTTP, name) {
			want = append(want, name)
		}
		for _, scenarios := range failing {
			if slices.Contains(scenarios, name) {
				want = append(want, name)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || ran < 30 {
		t.Errorf("%d scenarios ran; those that fail are (-want +got):\n%s\n%s", ran, diff, out)
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
	return picoclaw, []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PICOCLAW_ISOLATION_ENABLED=true", "PATH=/usr/bin:/bin"}
}

// bridgeFixture returns the URL of a bridge to `+"`picoclaw mcp`"+` over stdio.
func bridgeFixture(t *testing.T, picoclaw string, env []string) string {
	t.Helper()
	server := httptest.NewServer(newStdioBridge(t, picoclaw, env))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
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
