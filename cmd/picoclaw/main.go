// Command picoclaw lets an AI agent work on this machine without being trusted.
//
// Each family of commands is a package below internal/cmd, and internal/root builds the tree of them.
package main

import (
	"os"
	"runtime/debug"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/root"
)

// gcPercent lets the heap grow to 16 MiB before anything is collected: most commands end before that, and a collection
// takes as long as their whole work. memoryLimit bounds what a server keeps of what has passed through it.
// GOGC and GOMEMLIMIT say otherwise.
const (
	gcPercent   = 400
	memoryLimit = 32 << 20
)

// version and source are set when picoclaw is built. source is the directory with its sources.
var (
	version = "0.1.0-dev"
	source  string
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(memoryLimit)
	}
	f := &cli.Factory{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version, Source: source}
	os.Exit(cli.Run(os.Args[1:], f, root.New))
}
