package main

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/journal"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/versions"
	"github.com/picoclaw/picoclaw/sdk"
)

// settings is the operator's configuration of this plugin.
type settings struct {
	Journal struct {
		Enabled    *bool `json:"enabled,omitempty" jsonschema:"keep what changes destroy, for undo; true unless set"`
		MaxBytes   int64 `json:"max_bytes,omitempty" jsonschema:"how many bytes are kept at most" minimum:"0"`
		MaxAgeDays int   `json:"max_age_days,omitempty" jsonschema:"for how many days they are kept" minimum:"0"`
	} `json:"journal,omitzero" jsonschema:"the journal that undo takes changes back from"`
}

// memory is what the plugin remembers from one call to the next: the contents that its agent has seen, and what changes
// have destroyed.
type memory struct {
	once    sync.Once
	err     error
	journal *journal.Journal // nil when it is switched off or there is nowhere to keep it
	seen    *versions.Seen
}

// open readies the memory at the first call, since only then the plugin knows its configuration and its directory.
func (m *memory) open(env *sdk.Environment) error {
	m.once.Do(func() { m.err = m.setUp(env) })
	return m.err
}

func (m *memory) setUp(env *sdk.Environment) error {
	m.seen = versions.Open("")
	s := sdk.ConfigOf[settings](env)
	if env.StateDir == "" || (s.Journal.Enabled != nil && !*s.Journal.Enabled) {
		return nil
	}
	m.seen = versions.Open(filepath.Join(env.StateDir, "seen"))
	var err error
	m.journal, err = journal.Open(filepath.Join(env.StateDir, "journal"), journal.Options{
		MaxBytes: s.Journal.MaxBytes,
		MaxAge:   time.Duration(s.Journal.MaxAgeDays) * 24 * time.Hour,
	})
	return err
}

// stop keeps what the next process will want to know.
func (m *memory) stop(context.Context) {
	if m.seen != nil {
		_ = m.seen.Save() // a conflict is then answered without a diff
	}
	if m.journal != nil {
		m.journal.Close()
	}
}

// version returns contents that the agent has seen, or that were there before a change of its own.
func (m *memory) version(etag string) ([]byte, bool) {
	if data, ok := m.seen.Get(etag); ok {
		return []byte(data), true
	}
	if m.journal == nil {
		return nil, false
	}
	return kept(m.journal, etag)
}
