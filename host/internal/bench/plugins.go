package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/picoclaw/picoclaw/host/session"
)

// manyAgents is more than anybody has.
const manyAgents = 200

// measurePlugins shows that agents cost nothing until they call, and how soon a plugin that has crashed answers again.
func measurePlugins(bin string) error {
	return withPlugins(bin, func(bin string) error {
		return errors.Join(measureAgents(bin), measureRestart(bin))
	})
}

// measureAgents opens hosts with one agent and with many, and a session for each agent.
func measureAgents(bin string) error {
	fmt.Println("agents that are configured and have not called")
	for _, n := range []int{1, manyAgents} {
		err := withHome(func(home string) error {
			agents := make([]map[string]string, n)
			for i := range agents {
				agents[i] = map[string]string{"id": fmt.Sprintf("agent-%d", i)}
			}
			text, err := json.Marshal(map[string]any{"agents": map[string]any{"agents": agents}})
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(home, "config.json"), text, 0o600); err != nil {
				return err
			}
			var opening sample
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var h *session.Host
			if err := opening.timed(func() (err error) { h, _, err = newHost(bin, home, true); return err }); err != nil {
				return err
			}
			defer func() { _ = h.Close(context.Background()) }()
			runtime.GC()
			runtime.ReadMemStats(&after)
			children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
			if err != nil {
				return err
			}
			fmt.Printf("  %3d agents: a host opens in %6.1f ms, keeps %5d KB, and has started %d processes\n",
				n, ms(opening.p50()), max(0, int64(after.HeapAlloc)-int64(before.HeapAlloc))/1024, len(bytes.Fields(children)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measureRestart has a plugin crash and calls it again.
func measureRestart(bin string) error {
	return withHome(func(home string) error {
		h, s, err := newHost(bin, home, true)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close(context.Background()) }()
		args, err := json.Marshal(plainInput{Path: "nothing", Op: "read"})
		if err != nil {
			return err
		}
		var again sample
		for range 10 {
			if err := os.RemoveAll(session.CrashDir(home)); err != nil { // so many on purpose would be too many
				return err
			}
			s.Call(context.Background(), "plain", json.RawMessage(`{"path":"nothing","op":"crash"}`), nil)
			err := again.timed(func() error {
				if r := s.Call(context.Background(), "plain", args, nil); r.Err == nil || r.Err.Code == "unavailable" {
					return fmt.Errorf("the plugin does not answer: %w", r.Err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		fmt.Printf("after a crash, to the next answer  %s   (at most 100 ms)\n", again)
		return nil
	})
}
