package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

func BenchmarkReadOneMegabyte(b *testing.B) {
	dir := b.TempDir()
	name := filepath.Join(dir, "large")
	if err := os.WriteFile(name, bytes.Repeat([]byte("0123456789abcde\n"), 1<<16), 0o600); err != nil {
		b.Fatal(err)
	}
	w, err := workspace.OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	env, m := &sdk.Environment{Workspace: w}, &pluginState{}
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if _, err := readPart(b.Context(), env, m, "large", requestedPart{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os.ReadFile", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadFile(name); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkListOneThousand(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("entry-%04d.txt", i)), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	w, err := workspace.OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if _, err := formatDirListing(w, ".", ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os.ReadDir", func(b *testing.B) {
		for b.Loop() {
			if _, err := os.ReadDir(dir); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDurableWrite(b *testing.B) {
	dir := b.TempDir()
	w, err := workspace.OpenWorkspace(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{StateDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	g, err := guard.NewGuard(guard.Policy{Workspace: dir, Restrict: true})
	if err != nil {
		b.Fatal(err)
	}
	env, m := &sdk.Environment{Workspace: w, Guard: g, StateDir: b.TempDir()}, &pluginState{}
	data := string(bytes.Repeat([]byte("0123456789abcde\n"), 64))
	b.Run("tool", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.applyChange(b.Context(), env, changeRequest{tool: "write_file", edits: []fileChange{{path: "f", make: newFullReplacer(data,
				nil)}}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("workspace", func(b *testing.B) {
		for b.Loop() {
			if err := w.WriteFile("f", []byte(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			name := filepath.Join(dir, "floor")
			f, err := os.Create(name + ".new")
			if err != nil {
				b.Fatal(err)
			}
			_, err = f.WriteString(data)
			err = errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), name))
			d, errDir := os.Open(dir)
			if err := errors.Join(err, errDir, d.Sync(), d.Close()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
