package main

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// memory is what the plugin remembers from one call to the next: the contents that its agent has seen, and what changes
// have destroyed.
type memory struct {
	once  sync.Once
	err   error
	store *undo.Store // nil when it is switched off or there is nowhere to keep it
	seen  *versions.Seen
}

// open readies the memory at the first call, since only then the plugin knows its configuration and its directory.
func (m *memory) open(env *sdk.Environment) error {
	m.once.Do(func() { m.err = m.setUp(env) })
	return m.err
}

func (m *memory) setUp(env *sdk.Environment) error {
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

// stop keeps what the next process will want to know.
func (m *memory) stop(context.Context) {
	if m.seen != nil {
		_ = m.seen.Save() // a conflict is then answered without a diff
	}
	if m.store != nil {
		m.store.Close()
	}
}

// version returns contents that the agent has seen.
func (m *memory) version(etag string) ([]byte, bool) {
	data, ok := m.seen.Get(etag)
	return []byte(data), ok
}
