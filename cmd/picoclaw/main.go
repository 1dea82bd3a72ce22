// Command picoclaw lets an AI agent work on this machine without being trusted.
//
// Each family of commands is a package below internal/cmd. This package builds the command tree and runs it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
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
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(code)
}

// run is the whole program with its surroundings as arguments; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	stdout = cli.NewResults(stdout)
	root := newRoot(&cli.Factory{In: stdin, Out: stdout, Err: stderr, Version: version, Source: source})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if unwritten := cli.WriteError(stdout); unwritten != nil {
		fmt.Fprintln(stderr, "picoclaw: the result could not be written:", unwritten)
		return cli.ExitFailed
	}
	if err != nil && err.Error() != "" {
		fmt.Fprintln(stderr, "picoclaw: "+terminal.New(stderr).Clean(err.Error()))
	}
	return cli.ExitCode(err)
}
