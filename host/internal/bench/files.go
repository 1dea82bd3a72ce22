package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host"
)

// files compares the file tools with plain loops that do the same system calls.
type files struct {
	session *host.Session
	dir     string
}

// comparison is one tool beside its floor and the way there and back.
type comparison struct {
	name      string
	tool      func() error
	floor     func() error
	transport func() error
	limit     float64
	rounds    int
}

func measureFiles(bin string) error {
	return withPlugins(bin, func(bin string) error {
		return withHome(func(home string) error {
			h, s, err := newHost(bin, home, true)
			if err != nil {
				return err
			}
			defer func() { _ = h.Close(context.Background()) }()
			f := &files{session: s, dir: s.Policy().Workspace()}
			comparisons, err := f.comparisons()
			if err != nil {
				return err
			}
			fmt.Println("file tools through host and isolated plugin, beside plain loops that do the same system calls")
			fmt.Println("                              tool      floor  transport   (tool - transport) / floor")
			for _, c := range comparisons {
				if err := c.measure(); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			return nil
		})
	})
}

func (c *comparison) measure() error {
	var tool, floor, transport sample
	for i := range c.rounds + c.rounds/10 {
		if i == c.rounds/10 {
			tool, floor, transport = nil, nil, nil
		}
		if err := errors.Join(tool.timed(c.tool), floor.timed(c.floor), transport.timed(c.transport)); err != nil {
			return err
		}
	}
	ratio := float64(tool.p50()-transport.p50()) / float64(floor.p50())
	fmt.Printf("  %-24s %7.3f ms %7.3f ms %7.3f ms   %5.2f (at most %.1f)\n",
		c.name, ms(tool.p50()), ms(floor.p50()), ms(transport.p50()), ratio, c.limit)
	return nil
}

func (f *files) comparisons() ([]comparison, error) {
	small := bytes.Repeat([]byte("0123456789abcde\n"), 64)
	middle := bytes.Repeat([]byte("0123456789abcde\n"), 640)
	copy(middle[5000:], "old")
	large := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	if err := os.MkdirAll(filepath.Join(f.dir, "many"), 0o755); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"large": large, "edited": middle, "written": small, "floor": middle, "floor1k": small} {
		if err := os.WriteFile(filepath.Join(f.dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(f.dir, "many", fmt.Sprintf("entry-%04d.txt", i)), nil, 0o600); err != nil {
			return nil, err
		}
	}
	write, err := json.Marshal(map[string]string{"path": "written", "content": string(small)})
	if err != nil {
		return nil, err
	}
	turn := 0
	edit := func() error {
		from, to := "old", "new"
		if turn++; turn%2 == 0 {
			from, to = to, from
		}
		return call(f.session, "edit_file", fmt.Sprintf(`{"path":"edited","old_text":%q,"new_text":%q}`, from, to))
	}
	floorEdit := func() error {
		data, err := os.ReadFile(filepath.Join(f.dir, "floor"))
		if err != nil {
			return err
		}
		return durableWrite(filepath.Join(f.dir, "floor"), bytes.Replace(data, []byte("old"), []byte("new"), 1))
	}
	list := func() error {
		entries, err := os.ReadDir(filepath.Join(f.dir, "many"))
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, e := range entries {
			b.WriteString("FILE: " + e.Name() + "\n")
		}
		return nil
	}
	return []comparison{
		{"durable write of 1 KB", func() error { return call(f.session, "write_file", string(write)) },
			func() error { return durableWrite(filepath.Join(f.dir, "floor1k"), small) }, f.echo(1024, 0), 1.3, 1000},
		{"edit of 10 KB", edit, floorEdit, f.echo(0, 0), 1.5, 1000},
		{"list of 1,000 entries", func() error { return call(f.session, "list_dir", `{"path":"many"}`) }, list, f.echo(0, 20_000), 1.5, 500},
		{"read of 1 MB", func() error { return call(f.session, "read_file", `{"path":"large"}`) },
			func() error { _, err := os.ReadFile(filepath.Join(f.dir, "large")); return err }, f.echo(0, 1<<20), 3, 200},
	}, nil
}

// durableWrite replaces a file as every careful program does: new contents beside it, synced, renamed over it, and the
// directory synced.
func durableWrite(path string, data []byte) error {
	temp := fmt.Sprintf("%s.%d", path, time.Now().UnixNano())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close(), os.Rename(temp, path)); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
