package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes that scripts rely on.
const (
	exitOK     = 0
	exitFailed = 1 // the tool, or what was asked for, failed
	exitUsage  = 2 // the command line is wrong
	exitStart  = 3 // the host can't start: configuration, plugins, isolation
)

// failure is an error with its exit code. Its text may be empty if all has been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is the error of a wrong command line.
func usage(format string, args ...any) error {
	return &failure{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// cantStart is the error of a host that can't start.
func cantStart(err error) error { return &failure{code: exitStart, err: err} }

// errSaid is the error of a call whose failure has been shown already.
var errSaid = errors.New("")

// run is the whole program with its surroundings as arguments; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	root := newRoot(&app{stdin: stdin, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(stderr, "picoclaw: "+text)
	}
	var f *failure
	if errors.As(err, &f) {
		return f.code
	}
	return exitUsage // cobra's own errors are about the command line
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "picoclaw",
		Short: "Let an AI agent work on this machine without trusting it",
		Long: "picoclaw offers an agent tools (files, search, shell, and what plugins add) and holds it to a policy:\n" +
			"every call is decided before it leaves the host, done through file handles that can't be raced,\n" +
			"inside a sandbox of the kernel's.",
		Example: strings.Trim(`
  picoclaw tools                                  what the agent may call
  picoclaw call read_file path=go.mod             call a tool
  picoclaw explain exec --json '{"command":"ls"}' decide without calling
  picoclaw undo                                   take back its last change to files
  picoclaw mcp                                    serve an agent over MCP on stdin and stdout`, "\n"),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "configuration `file` (also PICOCLAW_CONFIG)")
	flags.StringVar(&a.workspace, "workspace", "", "the agent's workspace `directory`, in place of the configured one")
	flags.StringVar(&a.logLevel, "log-level", "", "trace, debug, info, warn, error or off (also PICOCLAW_LOG_LEVEL)")
	root.AddCommand(newInit(a), newCall(a), newBatch(a), newExplain(a), newTools(a), newHistory(a), newUndo(a), newMCP(a), newAudit(a), newConfig(a), newPlugin(a), newDoctor(a), newSelfTest(a), newVersion(a))
	return root
}
