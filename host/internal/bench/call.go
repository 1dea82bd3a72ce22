package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// newHost makes a host with an instance root of its own.
func newHost(bin, home string, isolated bool) (*session.Host, *session.Session, error) {
	return newTracedHost(bin, home, isolated, nil)
}

// newTracedHost makes one whose calls are followed.
func newTracedHost(bin, home string, isolated bool, tracer session.Tracer) (*session.Host, *session.Session, error) {
	cfg, err := config.Load(config.Options{Environ: []string{
		"HOME=" + home, "PICOCLAW_HOME=" + home, fmt.Sprintf("PICOCLAW_ISOLATION_ENABLED=%t", isolated),
	}})
	if err != nil {
		return nil, nil, err
	}
	h, err := session.Open(session.Options{Config: cfg, PluginDir: filepath.Join(bin, "plugins"), Tracer: tracer})
	if err != nil {
		return nil, nil, err
	}
	s, err := h.Session("", session.CLI)
	return h, s, err
}

// withHome gives f a new directory.
func withHome(f func(home string) error) error {
	home, err := os.MkdirTemp("", "picoclaw-bench")
	if err != nil {
		return err
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return err
	}
	return errors.Join(f(home), os.RemoveAll(home))
}

func call(s *session.Session, tool, args string) error {
	if r := s.Call(context.Background(), tool, json.RawMessage(args), nil); r.Err != nil {
		return fmt.Errorf("%s %s: %w", tool, args, r.Err)
	}
	return nil
}

// measureCall compares reading 1 KB through host and isolated plugin with the same reading in one process. The two
// take turns, so that both meet the same weather.
func measureCall(bin string) error {
	const rounds, warmup = 5000, 500
	return withHome(func(home string) error {
		h, s, err := newHost(bin, home, true)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close(context.Background()) }()
		dir := s.Policy().Workspace()
		if err := os.WriteFile(filepath.Join(dir, "1k"), []byte(strings.Repeat("0123456789abcde\n", 64)), 0o600); err != nil {
			return err
		}
		w, err := workspace.Open(guard.Policy{Workspace: dir, Restrict: true}, workspace.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = w.Close() }()
		var through, within sample
		for i := range rounds + warmup {
			if err := through.timed(func() error { return call(s, "read_file", `{"path":"1k"}`) }); err != nil {
				return err
			}
			if err := within.timed(func() error { _, err := w.ReadFile("1k"); return err }); err != nil {
				return err
			}
			if i == warmup-1 {
				through, within = nil, nil
			}
		}
		fmt.Println("read 1 KB")
		fmt.Println("  in the plugin's own process     ", within)
		fmt.Println("  through host and isolated plugin", through)
		fmt.Printf("  the way there and back costs     %.3f ms (at most 0.15)\n", ms(through.p50()-within.p50()))
		return nil
	})
}

// measureStart compares a plugin's cold start, from nothing to the first answer, isolated and plain.
func measureStart(bin string) error {
	const rounds = 25
	took := map[bool]*sample{false: {}, true: {}}
	for i := range rounds + 1 {
		for _, isolated := range []bool{false, true} {
			err := withHome(func(home string) error {
				h, s, err := newHost(bin, home, isolated)
				if err != nil {
					return err
				}
				if err := h.Ready(); err != nil {
					return err
				}
				var once sample
				if err := once.timed(func() error { return call(s, "list_dir", `{}`) }); err != nil {
					return err
				}
				if i > 0 { // the first round warms the page cache
					*took[isolated] = append(*took[isolated], once...)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				return h.Close(ctx)
			})
			if err != nil {
				return err
			}
		}
	}
	plain, isolated := took[false].p50(), took[true].p50()
	fmt.Println("cold start of a plugin to its first answer")
	fmt.Println("  plain   ", *took[false])
	fmt.Println("  isolated", *took[true])
	fmt.Printf("  isolated is %.2f times plain (at most 3), %+.1f ms (at most +6)\n",
		float64(isolated)/float64(plain), ms(isolated-plain))
	return nil
}
