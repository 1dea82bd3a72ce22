package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// measureUndo compares commands whose changes are kept for undo, and that are kept from protected paths, with the same
// ones where neither is. Both take turns. The homes are outside /tmp, of which a sandbox has its own.
func measureUndo(bin string) error {
	base, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		return err
	}
	fmt.Println("commands whose changes are kept for undo, beside the same ones without, isolation on")
	return errors.Join(withUndo(bin, filepath.Join(base, "kept"), true, func(kept *undoBench) error {
		return withUndo(bin, filepath.Join(base, "plain"), false, func(plain *undoBench) error {
			return compareUndo(kept, plain)
		})
	}), os.RemoveAll(base))
}

// undoBench is an agent with a client of its own.
type undoBench struct {
	client    *client
	workspace string
}

func withUndo(bin, home string, enabled bool, f func(*undoBench) error) error {
	workspace := filepath.Join(home, "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return err
	}
	s := &server{
		argv: []string{filepath.Join(bin, "picoclaw"), "mcp"}, stderr: os.Stderr,
		env: []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin", "PICOCLAW_ISOLATION_ENABLED=true",
			"PICOCLAW_TOOLS_EXEC_ENABLE_DENY_PATTERNS=false", fmt.Sprintf("PICOCLAW_TOOLS_UNDO_ENABLED=%v", enabled),
			fmt.Sprintf("PICOCLAW_WORKSPACE_PROTECT_ENABLED=%v", enabled)},
	}
	return withClient(s, func(c *client) error { return f(&undoBench{c, workspace}) })
}

func (b *undoBench) run(command string) error {
	params, err := json.Marshal(map[string]any{"name": "exec", "arguments": map[string]any{"command": command}})
	if err != nil {
		return err
	}
	if err := b.client.call("tools/call", string(params), 0); err != nil {
		return err
	}
	if answer := string(b.client.answer); strings.Contains(answer, `"isError":true`) {
		return fmt.Errorf("%.60s: %.300s", command, answer)
	}
	return nil
}

// tree makes so many files in directories of a hundred, of up to 3.5 KB.
func (b *undoBench) tree(name string, files int) error {
	text := []byte(strings.Repeat("x", 500*7))
	for i := range files {
		dir := filepath.Join(b.workspace, name, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), text[:500*(i%8)], 0o600); err != nil {
			return err
		}
	}
	return nil
}

func compareUndo(kept, plain *undoBench) error {
	// A build: 2,000 files, each by a process of its own, as compilers do; and the same files by one.
	const build = `rm -rf out; mkdir out; seq 2000 | xargs -n1 sh -c 'echo "$0" > out/$0.o'`
	const unpack = `rm -rf un; mkdir un; tar xf all.tar -C un`
	for _, b := range []*undoBench{kept, plain} {
		if err := errors.Join(b.tree("all", 2000), b.run("tar cf all.tar all")); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		name    string
		rounds  int
		command string
		ready   func(*undoBench) error
		aim     string
	}{
		{"true", 300, "true", nil, "at most +0.3 ms"},
		{"a build that writes 2,000 files", 3, build, nil, "at most 1.3x"},
		{"tar x of 2,000 files", 5, unpack, nil, ""},
		{"rm -rf of 20,000 files", 3, "rm -rf many", func(b *undoBench) error { return b.tree("many", 20_000) },
			"at most 3x"},
		{"true beside 20,000 files", 300, "true", func(b *undoBench) error {
			if _, err := os.Stat(filepath.Join(b.workspace, "kept")); err == nil {
				return nil
			}
			return b.tree("kept", 20_000)
		}, "at most +0.3 ms"},
	} {
		var with, without sample
		for range m.rounds {
			if m.ready != nil {
				if err := errors.Join(m.ready(kept), m.ready(plain)); err != nil {
					return err
				}
			}
			err := errors.Join(with.timed(func() error { return kept.run(m.command) }),
				without.timed(func() error { return plain.run(m.command) }))
			if err != nil {
				return err
			}
		}
		fmt.Printf("  %-32s %v and %v: %.2fx, %+.3f ms (%s)\n", m.name, with.p50(), without.p50(),
			float64(with.p50())/float64(without.p50()), float64(with.p50()-without.p50())/1e6, m.aim)
	}
	return nil
}
