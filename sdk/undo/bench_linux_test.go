package undo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// BenchmarkRecord measures what the record of one deleted file takes.
func BenchmarkRecord(b *testing.B) {
	dir := b.TempDir()
	files, err := workspace.OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	s, err := undo.Open(undo.StoreOptions{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	path := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	for i := range b.N {
		if err := os.WriteFile(path(i), []byte("some text"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	r := s.NewRecorder(files, undo.RecordOptions{Tool: "exec", Observe: true})
	b.ResetTimer()
	for i := range b.N {
		_ = r.BeforeChange(mutation.FileMutation{Kind: mutation.Remove, Path: path(i), Thread: 1})
		_ = os.Remove(path(i))
	}
	b.StopTimer()
	r.End()
}
