package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// pluginState is the plugin's state between calls: contents that the agent has read, and the undo history.
type pluginState struct {
	once  sync.Once
	err   error
	store *undo.Store // nil without an undo store
	seen  *versions.SeenContentStore
}

// initOnce initialises the state in the first call, because the configuration and directories are unknown before.
func (m *pluginState) initOnce(env *sdk.Environment) error {
	m.once.Do(func() { m.err = m.initState(env) })
	return m.err
}

func (m *pluginState) initState(env *sdk.Environment) error {
	m.seen = versions.OpenSeenContents("")
	if env.StateDir != "" {
		m.seen = versions.OpenSeenContents(filepath.Join(env.StateDir, "seen"))
	}
	if env.Takeback.Dir == "" {
		return nil
	}
	var err error
	m.store, err = undo.Open(env.Takeback)
	return err
}

// closeState saves the contents that the agent has read, and closes the undo store.
func (m *pluginState) closeState(context.Context) {
	if m.seen != nil {
		_ = m.seen.Save() // a conflict is then answered without a diff
	}
	if m.store != nil {
		m.store.Close()
	}
}
