//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
	"github.com/picoclaw/picoclaw/internal/measure"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// benchPlugins builds the plugins that `make build` builds, and the plain one.
var benchPlugins = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(hosttest.ProgramDir(), "bench")
	for _, name := range []string{"filesystem", "grep", "shell"} {
		if err := hosttest.BuildProgram(filepath.Join(dir, name, name), "../../plugins/"+name); err != nil {
			return "", err
		}
	}
	if err := copyPlainPlugin(dir); err != nil {
		return "", err
	}
	return dir, hosttest.WriteManifests(dir, "filesystem", "grep", "shell", plainID)
})

// openBench opens a host, and a session of its default agent, on a home with a configuration file.
func openBench(b *testing.B, home, file string, isolated bool,
	tracer session.Tracer) (*session.Host, *session.Session) {
	b.Helper()
	plugins, err := benchPlugins()
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(home, 0o700),
		os.WriteFile(filepath.Join(home, "config.json"), []byte(file), 0o600)); err != nil {
		b.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home,
		fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%t", isolated)}})
	if err != nil {
		b.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: plugins, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	s, err := h.OpenSession("", session.CLI)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	return h, s
}

// callTool returns a call of a tool, which has to succeed.
func callTool(s *session.Session, tool, args string) func() error {
	return func() error {
		if r := s.Call(context.Background(), tool, json.RawMessage(args), nil); r.Err != nil {
			return fmt.Errorf("%s %s: %w", tool, args, r.Err)
		}
		return nil
	}
}

// writeBench writes a file of a number of lines of 16 bytes.
func writeBench(b *testing.B, path string, lines int) {
	b.Helper()
	if err := os.WriteFile(path, []byte(strings.Repeat("0123456789abcde\n", lines)), 0o600); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCall reads 1 KB through host and plugin, with and without isolation, and in this process as the plugin does.
func BenchmarkCall(b *testing.B) {
	read := func(isolated bool) (dir string, call func() error) {
		_, s := openBench(b, hosttest.TempDir(b), "{}", isolated, nil)
		writeBench(b, filepath.Join(s.Policy().WorkspacePath(), "1k"), 64)
		return s.Policy().WorkspacePath(), callTool(s, "read_file", `{"path":"1k"}`)
	}
	dir, isolated := read(true)
	_, unconfined := read(false)
	w, err := workspace.OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	t := measure.RunInTurns(b,
		measure.BenchCase{Name: "read", Run: isolated},
		measure.BenchCase{Name: "read_unconfined", Run: unconfined},
		measure.BenchCase{Name: "read_in_process", Run: func() error { _, err := w.ReadFile("1k"); return err }})
	b.ReportMetric(t[0].Median()-t[2].Median(), "cost-ms<=0.15")
}

// BenchmarkStart starts a plugin to its first answer, plain and isolated.
func BenchmarkStart(b *testing.B) {
	start := func(name string, isolated bool) measure.BenchCase {
		var h *session.Host
		var s *session.Session
		return measure.BenchCase{Name: name,
			Prepare: func() error {
				if h != nil {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					defer cancel()
					if err := h.Close(ctx); err != nil {
						return err
					}
				}
				h, s = openBench(b, hosttest.TempDir(b), "{}", isolated, nil)
				return h.PrepareForCalls()
			},
			Run: func() error { return callTool(s, "list_dir", `{}`)() }}
	}
	t := measure.RunInTurns(b, start("plain", false), start("isolated", true))
	plain, isolated := t[0].Median(), t[1].Median()
	b.ReportMetric(isolated/plain, "isolated_to_plain-ratio<=3")
	b.ReportMetric(isolated-plain, "cost-ms<=6")
}

// BenchmarkTelemetry reads 1 KB without a collector, with one, and with one that never answers.
func BenchmarkTelemetry(b *testing.B) {
	discard := func(r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }
	taking := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { discard(r) }))
	defer taking.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		discard(r) // or the server would not notice that the client has gone
		<-r.Context().Done()
	}))
	defer hanging.Close()
	var cases []measure.BenchCase
	for _, c := range []struct{ name, endpoint string }{{"off", ""}, {"on", taking.URL}, {"hanging", hanging.URL}} {
		exporter, err := telemetry.StartTelemetry(telemetry.Options{Endpoint: c.endpoint, Sample: 1})
		if err != nil {
			b.Fatal(err)
		}
		defer exporter.Close(context.Background())
		var tracer session.Tracer
		if exporter != nil {
			tracer = exporter
		}
		_, s := openBench(b, hosttest.TempDir(b), "{}", true, tracer)
		writeBench(b, filepath.Join(s.Policy().WorkspacePath(), "1k"), 64)
		cases = append(cases, measure.BenchCase{Name: c.name, Run: callTool(s, "read_file", `{"path":"1k"}`)})
	}
	t := measure.RunInTurns(b, cases...)
	off := t[0].Median()
	b.ReportMetric(t[1].Median()-off, "on_cost-ms")
	b.ReportMetric(t[1].Median()/off, "on_to_off-ratio<=1.15")
	b.ReportMetric(t[2].Median()-off, "hanging_cost-ms")
	b.ReportMetric(t[2].Median()/off, "hanging_to_off-ratio")
}
