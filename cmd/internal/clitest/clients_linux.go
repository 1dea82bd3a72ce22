package clitest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// FindNodeJSClients returns the directory of the MCP clients and browser drivers that `.ci/install tests` installs, and
// the path of their Node.js.
func FindNodeJSClients(t *testing.T) (dir, node string) {
	t.Helper()
	dir = filepath.Join(moduleRoot(t), "bin", "clients")
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node = filepath.Join(dir, "node_modules/node-linux-"+arch+"/bin/node")
	if _, err := os.Stat(node); err != nil {
		t.Fatalf("%v; install what the tests need with `.ci/install tests`", err)
	}
	return dir, node
}
