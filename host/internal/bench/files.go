package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/host/session"
)

// files compares the file tools with plain loops that do the same system calls.
type files struct {
	session *session.Session
	dir     string
}

// comparison is one tool beside its plain loop, here and behind the same way there and back as the tool.
type comparison struct {
	name    string
	tool    func() error
	op      string
	path    string // of what the loop works on
	content string
	limit   float64
	rounds  int
}

func measureFiles(bin string) error {
	return withPlugins(bin, func(bin string) error {
		return withHome(func(home string) error {
			if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(plainGrants), 0o600); err != nil {
				return err
			}
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
			fmt.Println("file tools through host and isolated plugin, beside plain loops that do the same system calls, here and in a plugin")
			fmt.Println("                              tool      floor  in a plugin   (tool - (in a plugin - floor)) / floor")
			for _, c := range comparisons {
				if err := f.measure(&c); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
			return nil
		})
	})
}

func (f *files) measure(c *comparison) error {
	args, err := json.Marshal(plainInput{c.path, c.op, c.content})
	if err != nil {
		return err
	}
	var tool, floor, plain sample
	for i := range c.rounds + c.rounds/10 {
		if i == c.rounds/10 {
			tool, floor, plain = nil, nil, nil
		}
		if err := errors.Join(
			tool.timed(c.tool),
			floor.timed(func() error { _, err := inPlainLoop(c.op, c.path, c.content); return err }),
			plain.timed(func() error { return call(f.session, "plain", string(args)) }),
		); err != nil {
			return err
		}
	}
	way := plain.p50() - floor.p50()
	ratio := float64(tool.p50()-way) / float64(floor.p50())
	fmt.Printf("  %-24s %7.3f ms %7.3f ms   %7.3f ms   %5.2f (at most %.1f)\n",
		c.name, ms(tool.p50()), ms(floor.p50()), ms(plain.p50()), ratio, c.limit)
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
	for name, data := range map[string][]byte{"large": large, "edited": middle, "written": small, "floor": middle,
		"floor1k": small} {
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
	return []comparison{
		{"durable write of 1 KB", func() error { return call(f.session, "write_file", string(write)) },
			"write", filepath.Join(f.dir, "floor1k"), string(small), 1.3, 1000},
		{"edit of 10 KB", edit, "edit", filepath.Join(f.dir, "floor"), "", 1.5, 1000},
		{"list of 1,000 entries", func() error { return call(f.session, "list_dir", `{"path":"many"}`) },
			"list", filepath.Join(f.dir, "many"), "", 1.5, 500},
		{"read of 1 MB", func() error { return call(f.session, "read_file", `{"path":"large"}`) },
			"read", filepath.Join(f.dir, "large"), "", 3, 500},
	}, nil
}
