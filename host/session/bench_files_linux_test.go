//go:build linux

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
	"github.com/picoclaw/picoclaw/sdk"
)

// plainID is the id of a plugin that does what the file tools do in plain loops. It is this test binary. Beside the
// same loops in this process it shows what the way to a plugin and back costs, with the same waiting for the disk.
const plainID = "plain"

const plainConfig = `{"plugins": {"plain": {"grants": {"workspace": "rw"}}}}`

type plainInput struct {
	Path    string `json:"path" claim:"write"`
	Op      string `json:"op" doc:"What to do."`
	Content string `json:"content,omitempty"`
}

func plainPlugin() sdk.Plugin {
	return sdk.Plugin{
		ID: plainID, Version: "0.1.0", Doc: "File tools in plain loops.",
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess},
		Tools: []sdk.Tool{sdk.NewTool("plain", "Does something to a file in a plain loop.",
			func(_ context.Context, req *sdk.Request[plainInput]) (string, error) {
				return runPlainLoop(req.Args)
			}, sdk.Traits{})},
	}
}

// runPlainLoop makes the system calls of a file tool.
func runPlainLoop(in plainInput) (string, error) {
	switch in.Op {
	case "crash":
		os.Exit(1)
		return "", nil
	case "write":
		return "", replaceFile(in.Path, []byte(in.Content))
	case "edit":
		data, err := os.ReadFile(in.Path)
		if err != nil {
			return "", err
		}
		return "", replaceFile(in.Path, bytes.Replace(data, []byte("old"), []byte("new"), 1))
	case "list":
		entries, err := os.ReadDir(in.Path)
		if err != nil {
			return "", err
		}
		var list strings.Builder
		for _, e := range entries {
			list.WriteString("FILE: " + e.Name() + "\n")
		}
		return list.String(), nil
	default:
		data, err := os.ReadFile(in.Path)
		return string(data), err
	}
}

// replaceFile replaces a file durably: new contents beside it, synced, renamed over it, and the directory synced.
func replaceFile(path string, data []byte) error {
	temp := fmt.Sprintf("%s.%d", path, time.Now().UnixNano())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Rename(temp, path)); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// copyPlainPlugin copies this test binary to where a plugin's program is.
func copyPlainPlugin(plugins string) error {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	dir := filepath.Join(plugins, plainID)
	return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, plainID), program, 0o755))
}

// BenchmarkFiles compares file tools with plain loops that make the same system calls: in this process, which is the
// floor, and in a plugin. The ratio is that of tool to floor without the way to a plugin and back.
func BenchmarkFiles(b *testing.B) {
	_, s := openBench(b, hosttest.TempDir(b), plainConfig, true, nil)
	dir := s.Policy().WorkspacePath()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("many"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		writeBench(b, at(fmt.Sprintf("many/entry-%04d.txt", i)), 0)
	}
	edited := bytes.Repeat([]byte("0123456789abcde\n"), 640)
	copy(edited[5000:], "old")
	for _, name := range []string{"edited", "edited_plainly"} {
		if err := os.WriteFile(at(name), edited, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	writeBench(b, at("large"), 1<<16)
	content := strings.Repeat("0123456789abcde\n", 64)
	write, err := json.Marshal(map[string]string{"path": "written", "content": content})
	if err != nil {
		b.Fatal(err)
	}
	from, to := "new", "old"
	edit := func() error {
		from, to = to, from
		return callTool(s, "edit_file", fmt.Sprintf(`{"path":"edited","old_text":%q,"new_text":%q}`, from, to))()
	}
	for _, c := range []struct {
		name  string
		tool  func() error
		plain plainInput
		bound string
	}{
		{"write_1k", callTool(s, "write_file", string(write)), plainInput{at("written_plainly"), "write", content}, "1.3"},
		{"edit_10k", edit, plainInput{at("edited_plainly"), "edit", ""}, "1.5"},
		{"list_1000", callTool(s, "list_dir", `{"path":"many"}`), plainInput{at("many"), "list", ""}, "1.5"},
		{"read_1m", callTool(s, "read_file", `{"path":"large"}`), plainInput{at("large"), "read", ""}, "3"},
	} {
		b.Run(c.name, func(b *testing.B) {
			args, err := json.Marshal(c.plain)
			if err != nil {
				b.Fatal(err)
			}
			t := measure.RunInTurns(b,
				measure.BenchCase{Name: "tool", Run: c.tool},
				measure.BenchCase{Name: "floor", Run: func() error { _, err := runPlainLoop(c.plain); return err }},
				measure.BenchCase{Name: "plain_plugin", Run: callTool(s, "plain", string(args))})
			tool, floor, plugin := t[0].Median(), t[1].Median(), t[2].Median()
			b.ReportMetric((tool-(plugin-floor))/floor, "tool_to_floor-ratio<="+c.bound)
		})
	}
}

// BenchmarkPlugins opens hosts with one agent and with 200, none of which calls, and calls a plugin after a crash.
func BenchmarkPlugins(b *testing.B) {
	if _, err := benchPlugins(); err != nil { // before an opening is timed
		b.Fatal(err)
	}
	for _, n := range []int{1, 200} {
		b.Run(fmt.Sprint("agents_", n), func(b *testing.B) {
			file := benchConfig(b, agentNames("agent", n))
			var opening measure.RunDurations
			var kept uint64
			started := 0
			for b.Loop() {
				before, _, err := measure.MeasureMemory(os.Getpid())
				if err != nil {
					b.Fatal(err)
				}
				heap := heapInUse()
				var h *session.Host
				_ = opening.TimeRun(func() error { h, _ = openBench(b, hosttest.TempDir(b), file, true, nil); return nil })
				if after := heapInUse(); after > heap {
					kept = after - heap
				}
				after, _, err := measure.MeasureMemory(os.Getpid())
				if err != nil {
					b.Fatal(err)
				}
				started = len(after) - len(before)
				if err := h.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			opening.ReportMedian(b, "open-ms")
			b.ReportMetric(float64(kept>>10), "heap-KiB")
			b.ReportMetric(float64(started), "started_processes-count")
		})
	}
	b.Run("crash", func(b *testing.B) {
		home := hosttest.TempDir(b)
		_, s := openBench(b, home, plainConfig, true, nil)
		measure.RunInTurns(b, measure.BenchCase{Name: "next_answer", Bound: "<=100",
			Prepare: func() error {
				s.Call(context.Background(), plainID, json.RawMessage(`{"path":"nothing","op":"crash"}`), nil)
				return os.RemoveAll(session.CrashReportDir(home)) // the host refuses a plugin that crashes too often
			},
			Run: func() error {
				r := s.Call(context.Background(), plainID, json.RawMessage(`{"path":"nothing","op":"read"}`), nil)
				if r.Err == nil || r.Err.Code == "unavailable" {
					return fmt.Errorf("the plugin does not answer: %w", r.Err)
				}
				return nil
			}})
	})
}

// heapInUse returns how many bytes of memory this process has in use.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func agentNames(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i+1))
	}
	return all
}

// benchConfig returns a configuration with agents.
func benchConfig(b *testing.B, agents []string) string {
	b.Helper()
	var list []map[string]string
	for _, id := range agents {
		list = append(list, map[string]string{"id": id})
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"agents": list}})
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
