//go:build long && linux

package mcp_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The suite's other half: its servers, with `picoclaw mcp add --url` and `picoclaw call` for the client. It has no
// person who could fill in forms.

// loginScenarios are the suite's scenarios of a login. These are left out: scope-step-up and scope-retry-limit, as a call
// opens no browser (`picoclaw mcp login --scope` requests more); authorization-server-migration, as only a person signs in
// again; and those of extensions that picoclaw does not support.
var loginScenarios = []string{
	"metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "metadata-issuer-mismatch", "basic-cimd",
	"scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "offline-access-scope",
	"offline-access-not-supported", "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none",
	"pre-registration", "2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback", "resource-mismatch",
	"iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer",
	"iss-unexpected", "iss-normalized",
}

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
	browser := filepath.Join(dir, "browser") // the suite's pages need no person
	if err := os.WriteFile(browser, []byte("#!/bin/sh\nexec curl -sSL -o /dev/null \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	scenarios := map[string]string{
		"initialize": "", "tools_call": "server.add_numbers a=5 b=3", "sse-retry": "server.test_reconnection",
	}
	for _, name := range loginScenarios {
		scenarios["auth/"+name] = ""
	}
	for scenario, call := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			home := hosttest.TempDir(t)
			script := fmt.Sprintf("#!/bin/bash\nunset \"${!PICOCLAW_@}\"\n"+
				"export PICOCLAW_HOME=%s PICOCLAW_ISOLATION_ENABLED=true BROWSER=%s\npicoclaw=%s\n"+
				"flags=()\nid=$(jq -r '.client_id // empty' <<<\"$MCP_CONFORMANCE_CONTEXT\")\n"+
				"[ -z \"$id\" ] || { jq -r .client_secret <<<\"$MCP_CONFORMANCE_CONTEXT\" >$PICOCLAW_HOME.secret; "+
				"flags=(--client-id \"$id\" --client-secret-file $PICOCLAW_HOME.secret); }\n"+
				"$picoclaw mcp add server --yes --url \"$1\" \"${flags[@]}\"\n", home, browser, filepath.Join(dir, "picoclaw"))
			if strings.HasPrefix(scenario, "auth/") { // some servers have no tools, some refuse the first login
				script += "$picoclaw call server.test_tool || { $picoclaw mcp login server \"${flags[@]}\" && $picoclaw call server.test_tool; }; exit 0\n"
			} else if call != "" {
				script += "exec $picoclaw call " + call + "\n"
			} else {
				script += "exit 0 # that server has no tools, so it is not added\n"
			}
			client := filepath.Join(home, "client")
			if err := os.WriteFile(client, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(node, suite, "client", "--command", client, "--scenario", scenario).CombinedOutput()
			warned := bytes.Contains(out, []byte(" 0 failed, 1 warnings")) // picoclaw has no client metadata document
			if err != nil && !warned || !bytes.Contains(out, []byte(" 0 failed")) || bytes.Contains(out, []byte("Passed: 0/")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
