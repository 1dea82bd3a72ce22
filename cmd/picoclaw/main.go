// Command picoclaw lets an AI agent work on this machine without being trusted.
//
// Each family of commands is a package below internal/cmd, and internal/root builds the tree of them.
package main

import (
	"os"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/root"
	"github.com/picoclaw/picoclaw/internal/heapgrowth"
)

// initialHeapBytes is the heap size below which no garbage collection runs. Most commands end before that, and a
// collection takes as long as their whole work.
const initialHeapBytes = 32 << 20

// version and source are set when picoclaw is built. source is the directory with its sources.
var (
	version = "0.1.0-dev"
	source  string
)

func main() {
	heapgrowth.Set(initialHeapBytes)
	f := &cli.Factory{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version, Source: source}
	os.Exit(cli.RunCommand(os.Args[1:], f, root.NewRootCommand))
}
