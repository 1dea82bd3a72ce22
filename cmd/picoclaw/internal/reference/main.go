// Command reference writes the reference pages of the documentation: reference PROGRAMS DIR. `make docs` runs it.
// PROGRAMS is a directory with picoclaw's plugins. It is not part of a release.
//
// It must not contain facts that picoclaw does not have.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/root"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/session"
)

func main() {
	if err := writePages(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// writePages writes the pages about the configuration, tools and commands.
func writePages(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: reference PROGRAMS DIR, not %q", args)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: os.Environ()})
	if err != nil {
		return err
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(args[0], "plugins")})
	if err != nil {
		return err
	}
	tools, err := toolsPage(h.AllTools())
	if err != nil {
		return err
	}
	commands := root.NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr})
	for name, text := range map[string]string{
		"configuration.md": configurationPage(config.KnownKeys()), "tools.md": tools, "cli.md": commandsPage(commands),
	} {
		if err := os.WriteFile(filepath.Join(args[1], name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
