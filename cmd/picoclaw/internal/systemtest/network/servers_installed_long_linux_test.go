//go:build long

package network_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// servePackage serves one package to npm that runs a script when it is installed.
func (s *site) servePackage(name, script string) {
	s.t.Helper()
	about := map[string]any{"name": name, "version": "1.0.0", "bin": "server.js", "scripts": map[string]any{"postinstall": script}}
	text, err := json.Marshal(about)
	if err != nil {
		s.t.Fatal(err)
	}
	packed := s.tarball(map[string]string{"package/package.json": string(text), "package/server.js": "process.exit(1)"})
	sum := sha512.Sum512(packed)
	s.mux.HandleFunc("/npm/"+name+".tgz", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(packed))
	})
	s.mux.HandleFunc("/npm/"+name, func(w http.ResponseWriter, r *http.Request) {
		about["hasInstallScript"] = true
		about["dist"] = map[string]any{"tarball": "http://" + r.Host + "/npm/" + name + ".tgz",
			"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]any{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": about}})
	})
}

// What a package does when it is installed is bounded: it neither takes the machine's processes nor its disk, and
// whoever adds it is told what it did.
func TestPackageInstallResourceLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct{ name, script, why string }{
		{"forks", "while :; do sleep 60 & done", "it used more than 200 processes"},
		{"fills", "for n in 1 2 3 4 5 6; do truncate -s 500M file$n; done; sleep 60", "it wrote more than 2048 MB"},
		{"file", "cat /dev/zero > file", "File size limit exceeded"},
	} {
		s.servePackage(c.name, c.script)
		t.Run(c.name, func(t *testing.T) {
			n := newNetworked(t, s, `"allow": []`, "", "PICOCLAW_TOOLS_EXEC_LIMITS_PROCESSES=200",
				"PICOCLAW_TOOLS_EXEC_LIMITS_FILE_SIZE=512MB")
			h := mcptest.Home{Agent: n.Agent}
			h.WriteFile(".npmrc", n.ports("registry=http://npm.test:%PLAIN/npm/\n"))
			out, said, code := h.Run("mcp", "add", c.name, "--yes", "--", "npx", "-y", c.name)
			if code != 1 || !strings.Contains(said, c.why) {
				t.Errorf("%d: %s%s", code, out, said)
			}
			left, err := filepath.Glob(filepath.Join(h.Home, "plugins", ".staging-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("it has left %v, %v", left, err)
			}
			if mcptest.IsProcessRunning(h.Home, "") {
				t.Error("something of it runs on")
			}
		})
	}
}
