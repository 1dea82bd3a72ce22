//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

func TestRefusedConnectionIsInResult(t *testing.T) {
	home := hosttest.TempDir(t)
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(`{"isolation": {"enabled": true},
"network": {"allow": ["allowed.test"], "hosts": {"allowed.test": ["127.0.0.1"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home,
		"PICOCLAW_AGENTS_DEFAULTS_LIMITS_COMMANDS_PER_CPU=0"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins")})
	if err != nil {
		t.Fatal(err)
	}
	var sessions []*session.Session
	for range 3 {
		s, err := h.OpenSession("", session.MCP)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	meet := func(name string) string { // until all three calls run, and until all have connected
		return fmt.Sprintf("touch %[1]s-$$; until [ $(ls %[1]s-* | wc -l) = 3 ]; do sleep 0.05; done; ", name)
	}
	run := func(name string, commands [3]string) (texts [3]string) {
		var calls sync.WaitGroup
		for i, command := range commands {
			calls.Go(func() {
				raw, _ := json.Marshal(map[string]string{
					"command": meet(name+"-begun") + command + "; " + meet(name+"-ended")})
				texts[i] = sessions[i].Call(t.Context(), "exec", raw, nil).Text
			})
		}
		calls.Wait()
		return texts
	}
	texts := run("named", [3]string{"curl -sS http://first.test/x", "curl -sS https://SECOND.test.", "echo not.first.test"})
	for i, want := range []string{"first.test", "second.test", ""} {
		if got := strings.Count(texts[i], "[network: "); got != min(len(want), 1) || !strings.Contains(texts[i], want) ||
			strings.Contains(texts[i], "another") {
			t.Errorf("call %d: %s", i, texts[i])
		}
	}
	texts = run("unnamed", [3]string{"curl -sS http://thi''rd.test", "true", "true"})
	for i, text := range texts {
		if !strings.Contains(text, "[network: ") || !strings.Contains(text, "this call or another") {
			t.Errorf("call %d of those that name no host: %s", i, text)
		}
	}
	if err := h.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := audit.ReadLog(audit.LogPath(home), func(r audit.Record) error {
		host := strings.TrimSuffix(strings.ToLower(fmt.Sprint(r.Args["host"])), ".")
		for i, one := range []string{"first.test", "second.test"} {
			if r.Tool == "network" && host == one && r.Session != sessions[i].ID() {
				t.Errorf("%s is recorded of session %s, want %s", host, r.Session, sessions[i].ID())
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
