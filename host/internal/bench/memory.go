package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// measureMemory is what an MCP server and its plugins take of the machine's memory: each page that several processes
// have is shared out among them.
func measureMemory(bin string) error {
	const reads, rest = 1000, 10 * time.Second
	return withHome(func(home string) error {
		workspace := filepath.Join(home, "workspace")
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return err
		}
		for name, lines := range map[string]int{"1k": 64, "1m": 64 << 10} {
			text := strings.Repeat("0123456789abcde\n", lines)
			if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		s := &server{
			argv: []string{filepath.Join(bin, "picoclaw"), "mcp"}, stderr: os.Stderr,
			env: []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin", "PICOCLAW_ISOLATION_ENABLED=true"},
		}
		fmt.Println("memory of picoclaw mcp and its plugins, isolation on, in MiB")
		return withClient(s, func(c *client) error {
			if err := printMemory(c.pid, "idle before the first call", ""); err != nil {
				return err
			}
			for _, params := range []string{
				`{"name":"read_file","arguments":{"path":"1k"}}`,
				`{"name":"exec","arguments":{"command":"true"}}`,
				`{"name":"grep","arguments":{"pattern":"abc","path":"1k"}}`,
			} {
				if err := c.call("tools/call", params, 0); err != nil {
					return err
				}
			}
			if err := printMemory(c.pid, "after a call of each plugin", "at most 60"); err != nil {
				return err
			}
			for range reads {
				if err := c.read("read_file", "1m", 1<<20); err != nil {
					return err
				}
			}
			if err := printMemory(c.pid, fmt.Sprintf("after %d reads of 1 MB", reads), ""); err != nil {
				return err
			}
			time.Sleep(rest)
			return printMemory(c.pid, fmt.Sprintf("and %v of rest", rest), "at most 90")
		})
	})
}

// printMemory prints what a process and all that it has started take, and each of them.
func printMemory(pid int, when, goal string) error {
	processes, err := memoryOf(pid)
	if err != nil {
		return err
	}
	var all float64
	var each strings.Builder
	for _, p := range processes {
		all += p.pss
		fmt.Fprintf(&each, "  %s %.1f", p.name, p.pss)
	}
	if goal != "" {
		goal = "(" + goal + ")"
	}
	fmt.Printf("  %-28s %6.1f %-12s%s\n", when, all, goal, each.String())
	return nil
}

// footprint is a process's proportional share of the memory that it uses, in MiB.
type footprint struct {
	name string
	pss  float64
}

// memoryOf returns the footprints of a process and of all that descend from it, those in sandboxes too.
func memoryOf(pid int) ([]footprint, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return nil, err
	}
	pss, err := pssOf(dir)
	if err != nil {
		return nil, err
	}
	all := []footprint{{strings.TrimSpace(string(name)), pss}}
	threads, err := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	if err != nil {
		return nil, err
	}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) { // the thread has ended
			continue
		} else if err != nil {
			return nil, err
		}
		for child := range strings.FieldsSeq(string(children)) {
			pid, err := strconv.Atoi(child)
			if err != nil {
				return nil, err
			}
			below, err := memoryOf(pid)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// pssOf reads the share of the process with a directory in /proc. Plugins let nobody look but root.
func pssOf(dir string) (float64, error) {
	data, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("memory can be measured by root alone: %w", err)
	} else if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(rest, "kB")))
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("%s/smaps_rollup has no Pss", dir)
}
