package run_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// The ports of Codex's login are open until it has signed in.
func TestLoginPortsOfPreset(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	shown := p.picoclaw("run", "--show", "--", "codex").mustRun(t)
	if !strings.Contains(shown, "127.0.0.1:1455 ") || !strings.Contains(shown, "127.0.0.1:1457 ") {
		t.Errorf("before the login: %s", shown)
	}
	_, home, _ := strings.Cut(shown, "\nhome")
	home, _, _ = strings.Cut(strings.TrimSpace(home), ",")
	if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".codex", "auth.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if shown = p.picoclaw("run", "--show", "--", "codex").mustRun(t); strings.Contains(shown, "127.0.0.1:") {
		t.Errorf("after the login: %s", shown)
	}
}

// This machine reaches a server of the program at the port in --port, and no other port, until the run ends.
func TestPortOfRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.write("page", "from inside")
	var ports []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
		_ = l.Close()
	}
	get := func(port string) string {
		response, err := http.Get("http://127.0.0.1:" + port + "/page")
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	cmd := p.picoclaw("run", "--port", ports[0], "--", "sh", "-c", "python3 -m http.server "+ports[1]+" & exec python3 -m http.server "+ports[0])
	cmd.Dir = p.dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hosttest.WaitUntil(t, "the server answers", func() bool { return get(ports[0]) == "from inside" })
	if got := get(ports[1]); !strings.Contains(got, "refused") {
		t.Errorf("a port without --port: %s", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	hosttest.WaitUntil(t, "the port is closed", func() bool { return strings.Contains(get(ports[0]), "refused") })
	if shown := p.picoclaw("run", "--port", ports[0], "--show", "--", "sh").mustRun(t); !strings.Contains(shown, "127.0.0.1:"+ports[0]) {
		t.Errorf("--show lacks the port: %s", shown)
	}
	for _, port := range []string{"0", "65536", "x"} {
		if text, err := p.picoclaw("run", "--port", port, "--", "true").CombinedOutput(); err == nil || !strings.Contains(string(text), "port") {
			t.Errorf("--port %s: %v %s", port, err, text)
		}
	}
}
