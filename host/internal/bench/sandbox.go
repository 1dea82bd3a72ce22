package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/picoclaw/picoclaw/isolation"
)

// measureSandbox compares what it takes to run a plugin that only describes itself: plain, confined, by bubblewrap with
// as little as can be, and in a sandbox with all that belongs to it.
func measureSandbox(bin string) error {
	const rounds = 60
	return withHome(func(home string) (err error) {
		program := filepath.Join(bin, "plugins", "filesystem", "filesystem")
		work := filepath.Join(home, "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			return err
		}
		profile := isolation.Profile{Name: "bench", ReadWrite: []string{work}}
		profile.Confine = true
		programs := profile
		programs.Exec = true
		free, err := isolation.Configure(isolation.Config{Home: home}, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, free.Close()) }()
		boxed, err := isolation.Configure(isolation.Config{Home: home, Enabled: true}, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, boxed.Close()) }()
		in := func(iso *isolation.Isolation, p isolation.Profile) func() error {
			return func() error { return iso.Run(context.Background(), exec.Command(program, "describe"), p) }
		}
		ways := []struct {
			name string
			run  func() error
			took sample
		}{
			{name: "plain", run: func() error { return exec.Command(program, "describe").Run() }},
			{name: "confined by Landlock and the filter", run: in(free, profile)},
			{name: "bubblewrap by itself", run: func() error {
				return exec.Command("bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", program, program, "--", program,
					"describe").Run()
			}},
			{name: "in a sandbox, with all walls", run: in(boxed, profile)},
			{name: "the same, and it may start programs", run: in(boxed, programs)},
		}
		for i := range rounds + 1 {
			for n := range ways {
				if err := ways[n].took.timed(ways[n].run); err != nil {
					return fmt.Errorf("%s: %w", ways[n].name, err)
				}
				if i == 0 { // warms the page cache
					ways[n].took = nil
				}
			}
		}
		fmt.Println("a plugin that describes itself, from its start to its end")
		for _, way := range ways {
			fmt.Printf("  %-36s %v   %+6.2f ms\n", way.name, way.took, ms(way.took.p50()-ways[0].took.p50()))
		}
		fmt.Printf("  all walls cost %+.1f ms (at most +6), %+.1f ms over bubblewrap by itself\n",
			ms(ways[3].took.p50()-ways[0].took.p50()), ms(ways[3].took.p50()-ways[2].took.p50()))
		return nil
	})
}
