// Command man writes the manual pages of picoclaw: man DIR VERSION. `make man` runs it. It is not part of a release.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra/doc"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/root"
)

func main() {
	if err := writeManPages(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// writeManPages writes the manual pages of all commands into the directory in args.
func writeManPages(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: man DIR VERSION, not %q", args)
	}
	dir, version := args[0], args[1]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tree := root.NewRootCommand(&cli.Factory{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr, Version: version})
	tree.DisableAutoGenTag = true
	return doc.GenManTree(tree,
		&doc.GenManHeader{Title: "PICOCLAW", Section: "1", Source: "picoclaw " + version, Manual: "picoclaw"}, dir)
}
