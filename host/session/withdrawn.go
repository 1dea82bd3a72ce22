package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/catalog"
)

// withdrawn are the tools that plugins do not offer any more, since what is behind them is not what their manifests
// say: the manifest that an operator has read is all that an agent is shown. A plugin says so in answer to a call, and
// the host believes it until the plugin is installed anew.
type withdrawn struct {
	mu    sync.Mutex
	tools map[string]bool // by the plugin's digest and the tool's name
	count int
}

func withdrawnKey(t *catalog.Tool) string {
	installed := time.Time{}
	if t.Plugin.Pin != nil {
		installed = t.Plugin.Pin.Installed // what was accepted again may be the same
	}
	return t.Plugin.Digest + " " + installed.String() + " " + t.FullName()
}

func (w *withdrawn) add(t *catalog.Tool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tools == nil {
		w.tools = map[string]bool{}
	}
	if key := withdrawnKey(t); !w.tools[key] {
		w.tools[key] = true
		w.count++
	}
}

func (w *withdrawn) has(t *catalog.Tool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tools[withdrawnKey(t)]
}

// number grows with each tool.
func (w *withdrawn) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Withdrawal is a note of the host's that an installed plugin has taken a tool back, for the operator to read. It lies
// where nothing of the plugin's can remove it.
type Withdrawal struct {
	Tool    string `json:"tool"`
	Version string `json:"version"` // of the plugin
	Agent   string `json:"agent"`
	Why     string `json:"why"` // in the plugin's words
}

func withdrawalDir(home, plugin string) string {
	return filepath.Join(home, "logs", "withdrawn", plugin)
}

// mostWhy is how much is noted of a plugin's words, in bytes.
const mostWhy = 1 << 10

// quarantineTool stops offering a tool whose plugin has taken it back, and notes that for the operator.
func (s *Session) quarantineTool(t *catalog.Tool, why string) {
	s.host.gone.add(t)
	if err := s.noteWithdrawal(t, why); err != nil {
		s.host.logger.Warn("the operator is not told of a tool that has changed", "error", err)
	}
}

// noteWithdrawal notes that a tool of an installed plugin was taken back.
func (s *Session) noteWithdrawal(t *catalog.Tool, why string) error {
	if t.Plugin.Pin == nil {
		return nil
	}
	text, err := json.Marshal(Withdrawal{Tool: t.Spec.Name, Version: t.Plugin.Pin.Version, Agent: s.policy.Agent(),
		Why: why[:min(len(why), mostWhy)]})
	if err != nil {
		return err
	}
	dir := withdrawalDir(s.policy.Home(), t.Plugin.Manifest.ID)
	if err = os.MkdirAll(dir, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(dir, t.Spec.Name), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note that %s is withdrawn: %w", t.FullName(), err)
	}
	return nil
}

// Withdrawals are the notes about a version of a plugin, sorted by tool.
func Withdrawals(home, plugin, version string) []Withdrawal {
	dir := withdrawalDir(home, plugin)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nobody has noted anything
	}
	var all []Withdrawal
	for _, e := range entries {
		var w Withdrawal
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && json.Unmarshal(text, &w) == nil && w.Version == version {
			all = append(all, w)
		}
	}
	return all
}

// ForgetWithdrawals removes the notes about a plugin.
func ForgetWithdrawals(home, plugin string) error { return os.RemoveAll(withdrawalDir(home, plugin)) }
