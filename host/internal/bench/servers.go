package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// measureServers compares an MCP server that is called through picoclaw, confined as `picoclaw mcp add` has it, with
// the same server called directly. Both take turns.
func measureServers(bin string) error {
	home, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		return err
	}
	return errors.Join(compareServers(bin, home), os.RemoveAll(home))
}

func compareServers(bin, home string) error {
	workspace := filepath.Join(home, "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return err
	}
	file := filepath.Join(workspace, "1k")
	if err := os.WriteFile(file, []byte(strings.Repeat("0123456789abcde\n", 64)), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	through := &server{
		tool: "sdk_read", argv: []string{filepath.Join(bin, "picoclaw"), "mcp"}, stderr: os.Stderr,
		env: []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin", "PICOCLAW_ISOLATION_ENABLED=true"},
	}
	direct := &server{tool: "read", argv: []string{self, serveSDKArg}}
	add := exec.Command(through.argv[0], "mcp", "add", "sdk", "--workspace", "ro", "--yes", "--", self, serveSDKArg)
	add.Env = through.env
	if out, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("add the server: %w: %s", err, out)
	}
	var cold, coldAlone sample
	for i := range 21 {
		err := withClient(through, func(c *client) error {
			if err := c.read("read_file", file, 1<<10); err != nil { // the host is ready then
				return err
			}
			return cold.timed(func() error { return c.read(through.tool, file, 1<<10) })
		})
		if err != nil {
			return err
		}
		began := time.Now()
		if err := withClient(direct, func(c *client) error {
			err := c.read(direct.tool, file, 1<<10)
			coldAlone = append(coldAlone, time.Since(began))
			return err
		}); err != nil {
			return err
		}
		if i == 0 { // it warms the page cache
			cold, coldAlone = nil, nil
		}
	}
	servers := []*server{through, direct}
	err = withClient(through, func(t *client) error {
		return withClient(direct, func(d *client) error {
			for i := range 11 {
				for n, c := range []*client{t, d} {
					for range 200 {
						s := servers[n]
						if err := s.took[stepSmall].timed(func() error { return c.read(s.tool, file, 1<<10) }); err != nil {
							return err
						}
					}
				}
				if i == 0 {
					through.took[stepSmall], direct.took[stepSmall] = nil, nil
				}
			}
			return nil
		})
	})
	warm, alone := through.took[stepSmall], direct.took[stepSmall]
	fmt.Println("an MCP server through picoclaw, confined, beside the same one alone")
	fmt.Printf("  %-32s %v and %v: %+.2f ms (at most +10 ms)\n", "start to first read", cold.p50(), coldAlone.p50(),
		ms(cold.p50()-coldAlone.p50()))
	fmt.Printf("  %-32s %v and %v: %+.2f ms (at most +0.3 ms)\n", "read of 1 KB", warm.p50(), alone.p50(),
		ms(warm.p50()-alone.p50()))
	return err
}
