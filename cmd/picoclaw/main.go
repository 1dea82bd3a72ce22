// Command picoclaw gives an AI agent tools on this machine under a policy.
//
// Each family of commands is a package below internal/cmd. Package internal/root builds the command tree.
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

// version and source are set by the build. source is the directory with the sources; empty in a release.
var (
	version = "0.1.0-dev"
	source  string
)

func main() {
	heapgrowth.SetGCThreshold(initialHeapBytes)
	f := &cli.Factory{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version, Source: source}
	os.Exit(cli.RunRootCommand(os.Args[1:], f, root.NewRootCommand))
}
