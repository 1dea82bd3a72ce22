package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/catalog"
)

// withdrawnTools are tools that their plugin withdrew, because the real tool differs from the manifest the operator
// accepted. A plugin withdraws a tool in its answer to a call. The tool stays withdrawn until the plugin is
// reinstalled.
type withdrawnTools struct {
	mu    sync.Mutex
	tools map[string]bool // by plugin digest and tool name
}

func withdrawnToolKey(t *catalog.Tool) string {
	installed := time.Time{}
	if t.Plugin.Pin != nil {
		installed = t.Plugin.Pin.Installed // a reinstalled plugin may have the same digest
	}
	return t.Plugin.Digest + " " + installed.String() + " " + t.FullName()
}

func (w *withdrawnTools) addTool(t *catalog.Tool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools[withdrawnToolKey(t)] = true
}

func (w *withdrawnTools) hasTool(t *catalog.Tool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tools[withdrawnToolKey(t)]
}

// addedCount returns the number of withdrawn tools so far, to detect changes.
func (w *withdrawnTools) addedCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tools)
}

// ToolWithdrawal is a stored note that a plugin withdrew a tool. Plugins can't remove it.
type ToolWithdrawal struct {
	Tool    string `json:"tool"`
	Version string `json:"version"` // plugin version
	Agent   string `json:"agent"`
	Why     string `json:"why"` // the plugin's reason
}

func withdrawalDir(home, plugin string) string {
	return filepath.Join(home, "logs", "withdrawn", plugin)
}

// maxReasonBytes limits the plugin's reason in a note.
const maxReasonBytes = 1 << 10

// quarantineTool stops offering a tool that its plugin withdrew, and stores a note for the operator.
func (s *Session) quarantineTool(t *catalog.Tool, why string) {
	s.host.withdrawn.addTool(t)
	if err := s.storeWithdrawalNote(t, why); err != nil {
		s.host.logger.Warn("the operator could not be notified of a changed tool", "error", err)
	}
}

func (s *Session) storeWithdrawalNote(t *catalog.Tool, why string) error {
	if t.Plugin.Pin == nil {
		return nil
	}
	text, err := json.Marshal(ToolWithdrawal{Tool: t.CallName(), Version: t.Plugin.Pin.Version, Agent: s.policy.AgentID(),
		Why: why[:min(len(why), maxReasonBytes)]})
	if err != nil {
		return err
	}
	dir := withdrawalDir(s.policy.HomePath(), t.Plugin.Manifest.ID)
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(t.CallName(), ":", "-")), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note that %s is withdrawn: %w", t.FullName(), err)
	}
	return nil
}

// ReadToolWithdrawals returns the withdrawal notes about a plugin version, sorted by tool.
func ReadToolWithdrawals(home, plugin, version string) []ToolWithdrawal {
	dir := withdrawalDir(home, plugin)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no notes
	}
	var all []ToolWithdrawal
	for _, e := range entries {
		var w ToolWithdrawal
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && json.Unmarshal(text, &w) == nil && w.Version == version {
			all = append(all, w)
		}
	}
	return all
}

// RemoveToolWithdrawals removes the withdrawal notes about a plugin.
func RemoveToolWithdrawals(home, plugin string) error {
	return os.RemoveAll(withdrawalDir(home, plugin))
}
