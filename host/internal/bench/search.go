package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// measureSearch compares searching through host and isolated plugin with ripgrep by itself, on the same tree.
func measureSearch(bin string) error {
	for _, size := range []int{1, 10} {
		err := withHome(func(home string) error {
			h, s, err := newHost(bin, home, true)
			if err != nil {
				return err
			}
			defer func() { _ = h.Close(context.Background()) }()
			dir := s.Policy().Workspace()
			if err := growTree(dir, size); err != nil {
				return err
			}
			fmt.Printf("search in %d files, beside ripgrep by itself\n", treeFiles*size)
			fmt.Println("                                      tool         rg   ratio")
			return searches(s, dir, 31/size)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func searches(s *session.Session, dir string, rounds int) error {
	for _, c := range []struct{ name, pattern string }{
		{"a literal", needle},
		{"an alternation", "FIRST_ONE|" + needle + "|LAST_ONE"},
		{"without case", "(?i)needle_token"},
		{"no literal", `\bz\w{4}\s+q\w{6}\b`},
	} {
		args, err := json.Marshal(map[string]any{"pattern": c.pattern})
		if err != nil {
			return err
		}
		if err := beside(c.name, "1.15", rounds, func() error { return call(s, "grep", string(args)) },
			func() error { return ripgrep(dir, "-n", "-e", c.pattern) }); err != nil {
			return err
		}
	}
	find := func() error { return call(s, "find", `{"pattern":"**/*_target.go"}`) }
	if err := beside("find by name", "1.0", rounds, find, func() error {
		return ripgrep(dir, "--files", "-g",
			"**/*_target.go")
	}); err != nil {
		return err
	}
	if err := beside("find, beside a walk in Go", "3.0", rounds, find,
		func() error { return parallelWalk(dir) }); err != nil {
		return err
	}
	return firstResult(s)
}

// beside times two things in turns.
func beside(name, limit string, rounds int, tool, other func() error) error {
	var a, b sample
	for i := range rounds + 2 {
		if i == 2 {
			a, b = nil, nil
		}
		if err := errors.Join(a.timed(tool), b.timed(other)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	fmt.Printf("  %-30s %8.1f ms %7.1f ms   %.2f (at most %s)\n", name, ms(a.p50()), ms(b.p50()),
		float64(a.p50())/float64(b.p50()), limit)
	return nil
}

// ripgrep runs it as a person would, its output going to a pipe.
func ripgrep(dir string, args ...string) error {
	cmd := exec.Command("rg", append([]string{"--no-config", "--no-require-git"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}

// parallelWalk looks at every name in a tree, some directories at a time.
func parallelWalk(dir string) error {
	var workers sync.WaitGroup
	tops, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	names := make(chan string, len(tops))
	for _, top := range tops {
		names <- top
	}
	close(names)
	for range 2 {
		workers.Go(func() {
			for top := range names {
				_ = filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
					_ = strings.HasSuffix(path, "_target.go")
					return err
				})
			}
		})
	}
	workers.Wait()
	return nil
}

// firstResult shows that results come before the search ends.
func firstResult(s *session.Session) error {
	var first, whole sample
	for range 5 {
		told := make(chan struct{})
		var once sync.Once
		began := time.Now()
		r := s.Call(context.Background(), "grep", json.RawMessage(`{"pattern":"`+needle+`"}`), func(session.Event) {
			once.Do(func() { first = append(first, time.Since(began)); close(told) })
		})
		whole = append(whole, time.Since(began))
		if r.Err != nil {
			return r.Err
		}
		<-told
	}
	fmt.Printf("  the first result comes after %.1f ms, the last after %.1f ms\n\n", ms(first.p50()), ms(whole.p50()))
	return nil
}
