//go:build long && linux

package mcp_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The protocol's own conformance suite, from npm, against `picoclaw mcp`: go test -tags long ./host/mcp -run Conformance

// failing are the suite's scenarios that fail, by the feature that they need and this server doesn't have.
var failing = map[string][]string{
	"tools that can't be called without tasks": {"tasks-required-task-error"},
	"keywords of JSON Schema":                  {"json-schema-2020-12"},
	"parameters in headers":                    {"http-custom-header-server-validation"},
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

// onlyHTTP are scenarios of the HTTP transport. Requests of server-stateless have their version only in a header.
var onlyHTTP = []string{"dns-rebinding-protection", "http-header-validation", "server-stateless", "tasks-request-headers"}

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

// bridgeFixture returns the URL of a bridge to `+"`picoclaw mcp`"+` over stdio.
func bridgeFixture(t *testing.T, picoclaw string, env []string) string {
	t.Helper()
	server := httptest.NewServer(newStdioBridge(t, picoclaw, env))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}
