package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// writePlugin writes a plugin of a protocol version and returns its manifest.
func writePlugin(t *testing.T, dir, id string, protocol int) []byte {
	t.Helper()
	manifest := fmt.Appendf(nil, `{"id":%q,"version":"1.0.0","doc":"d","protocol":{"min":%d,"max":%[2]d},
		"grants":{"workspace":"none"},"tools":[{"name":%[1]q,"doc":"d","input":{"type":"object"}}]}`, id, protocol)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{pluginpb.ManifestFile: manifest, pluginpb.PluginProgramName(id, runtime.GOOS): nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return manifest
}

func TestPluginOfOlderProtocolIsAProblem(t *testing.T) {
	home := t.TempDir()
	bundled, build := filepath.Join(home, "bundled"), filepath.Join(home, "build")
	writePlugin(t, filepath.Join(bundled, "mcp"), "mcp", pluginpb.ProtocolVersion)
	writePlugin(t, build, "dev", 1)
	s := store.NewStore(home)
	lock := store.LockFile{Version: 1, Plugins: map[string]*store.InstalledPlugin{}}
	for id, program := range map[string]string{"installed": "", "server": "mcp"} {
		sum := sha256.Sum256(writePlugin(t, s.VersionDir(id, "1.0.0"), id, 1))
		lock.Plugins[id] = &store.InstalledPlugin{PluginVersion: store.PluginVersion{Version: "1.0.0", Binary: id,
			Program: program, Files: map[string]string{pluginpb.ManifestFile: hex.EncodeToString(sum[:]), id: "0"}}}
	}
	data, err := json.Marshal(lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.LockFilePath(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCatalog(PluginSources{Bundled: bundled, Store: s, Dev: map[string]string{"dev": build}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "it speaks version 1 of the plugin protocol, this picoclaw version 2; rebuild the plugin with the current SDK"
	problems := map[string]string{}
	for _, p := range c.Problems() {
		problems[p.Plugin] = p.Err.Error()
	}
	for _, id := range []string{"dev", "installed"} {
		if !strings.HasSuffix(problems[id], want) {
			t.Errorf("%s: %q", id, problems[id])
		}
		delete(problems, id)
	}
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	// The program of a server is picoclaw's own, which is replaced with picoclaw.
	if server := c.findPlugin("server"); server == nil || server.Manifest.Protocol != pluginpb.CurrentProtocol() {
		t.Errorf("the server is %+v", server)
	}
	writePlugin(t, filepath.Join(bundled, "old"), "old", 1)
	if _, err := LoadCatalog(PluginSources{Bundled: bundled}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("bundled: %v", err)
	}
}

func TestPluginOfNewerProtocolNeedsNewerPicoclaw(t *testing.T) {
	newer := pluginpb.ProtocolVersion + 1
	err := (pluginpb.ProtocolRange{Min: newer, Max: newer}).Check()
	if err == nil || !strings.HasSuffix(err.Error(), "update picoclaw") {
		t.Error(err)
	}
}
