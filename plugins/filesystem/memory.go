package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// pluginState is the plugin's state between calls: contents the agent has seen, and the undo history.
type pluginState struct {
	once  sync.Once
	err   error
	store *undo.Store // nil when it is switched off or there is nowhere to keep it
	seen  *versions.Seen
}

// initOnce initialises the state at the first call, when configuration and directory are known.
func (m *pluginState) initOnce(env *sdk.Environment) error {
	m.once.Do(func() { m.err = m.setUp(env) })
	return m.err
}

func (m *pluginState) setUp(env *sdk.Environment) error {
	m.seen = versions.Open("")
	if env.StateDir != "" {
		m.seen = versions.Open(filepath.Join(env.StateDir, "seen"))
	}
	if env.Takeback.Dir == "" {
		return nil
	}
	var err error
	m.store, err = undo.Open(env.Takeback)
	return err
}

// saveState saves the state for the next process.
func (m *pluginState) saveState(context.Context) {
	if m.seen != nil {
		_ = m.seen.Save() // a conflict is then answered without a diff
	}
	if m.store != nil {
		m.store.Close()
	}
}

// seenContents returns contents the agent has seen.
func (m *pluginState) seenContents(etag string) ([]byte, bool) {
	data, ok := m.seen.Get(etag)
	return []byte(data), ok
}
