//go:build long && linux

package mcp_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The suite's other half: its servers, with `picoclaw mcp add --url` and `picoclaw call` for the client. It has no
// person who could fill in forms, and nothing here signs in by OAuth.

func TestClientConformanceSuite(t *testing.T) {
	node, suite := conformanceSuite(t)
	dir := hosttest.TempDir(t)
	for program, pkg := range map[string]string{"picoclaw": "../../cmd/picoclaw", "plugins/mcp/mcp": "../../plugins/mcp"} {
		at := filepath.Join(dir, program)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := hosttest.BuildProgram(at, pkg); err != nil {
			t.Fatal(err)
		}
	}
	// A plugin that says of itself what it is, without which there is no installation.
	fixture := filepath.Join(dir, "plugins/conformance")
	if err := os.MkdirAll(fixture, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := hosttest.BuildProgram(filepath.Join(fixture, "conformance"), "./testdata/conformance"); err != nil {
		t.Fatal(err)
	}
	manifest, err := exec.Command(filepath.Join(fixture, "conformance"), "describe").Output()
	if err == nil {
		err = os.WriteFile(filepath.Join(fixture, "plugin.json"), manifest, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for scenario, call := range map[string]string{
		"initialize": "", "tools_call": "server.add_numbers a=5 b=3", "sse-retry": "server.test_reconnection",
	} {
		t.Run(scenario, func(t *testing.T) {
			home := hosttest.TempDir(t)
			script := fmt.Sprintf("#!/bin/bash\nunset \"${!PICOCLAW_@}\"\nexport PICOCLAW_HOME=%s PICOCLAW_ISOLATION_ENABLED=true\npicoclaw=%s\n"+
				"$picoclaw mcp add server --yes --url \"$1\"\n", home, filepath.Join(dir, "picoclaw"))
			if call != "" {
				script += "exec $picoclaw call " + call + "\n"
			} else {
				script += "exit 0 # that server has no tools, so it is not added\n"
			}
			client := filepath.Join(home, "client")
			if err := os.WriteFile(client, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(node, suite, "client", "--command", client, "--scenario", scenario).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte(" 0 failed")) || bytes.Contains(out, []byte("Passed: 0/")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
