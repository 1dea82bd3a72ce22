package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// Run runs the command tree that newRoot returns. It returns the exit code.
func Run(args []string, f *Factory, newRoot func(*Factory) *cobra.Command) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	f.Out = NewResults(f.Out)
	root := newRoot(f)
	root.SetArgs(args)
	root.SetIn(f.In)
	root.SetOut(f.Out)
	root.SetErr(f.Err)
	err := root.ExecuteContext(ctx)
	if unwritten := WriteError(f.Out); unwritten != nil {
		fmt.Fprintln(f.Err, "picoclaw: the result could not be written:", unwritten)
		return ExitFailed
	}
	if err != nil && err.Error() != "" {
		text := err.Error()
		if fulldisk.IsFull(err) {
			text += "; " + fulldisk.Remedy
		}
		fmt.Fprintln(f.Err, "picoclaw: "+terminal.New(f.Err).Clean(text))
	}
	return ExitCode(err)
}

// NewRoot completes a program's root command: its name, the global flags, and errors that name the nearest command or flag.
func NewRoot(f *Factory, root *cobra.Command) *cobra.Command {
	root.Use, root.Version = "picoclaw", f.VersionText()
	root.Args, root.RunE = cobra.ArbitraryArgs, UnknownCommand
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return f.CheckLogging() }
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.SetVersionTemplate("picoclaw {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `file` (also PICOCLAW_CONFIG)")
	flags.StringVar(&f.Workspace, "workspace", "", "the agent's workspace `directory`, in place of the configured one")
	flags.StringVar(&f.LogLevel, "log-level", "", "trace, debug, info, warn, error or off (also PICOCLAW_LOG_LEVEL)")
	flags.StringVar(&f.LogFormat, "log-format", "", "text or json (also PICOCLAW_LOG_FORMAT)")
	f.CompleteFlag(root, "log-level", CompleteWords(logLevels()...))
	f.CompleteFlag(root, "log-format", CompleteWords(logFormats()...))
	f.CompleteFlag(root, "workspace", CompleteDirectories)
	root.SetFlagErrorFunc(flagError)
	return root
}

// UnknownCommand is picoclaw without a command, or with one that there is not.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
		if slices.Contains(sub.SuggestFor, args[0]) {
			return Usagef("unknown command %q; did you mean %q?; `picoclaw --help` lists the commands", args[0], sub.Name())
		}
	}
	return Usagef("unknown command %q%s; `picoclaw --help` lists the commands", args[0], suggest.DidYouMean(args[0], names))
}

// flagError says which flag was meant.
func flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usagef("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), kindOf(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	}
	var names []string
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	if meant := suggest.DidYouMean(unknown.GetSpecifiedName(), names); meant != "" {
		return Usagef("%w%s", err, strings.Replace(meant, `"`, `"--`, 1))
	}
	return Usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// kindOf says what a flag's value has to be.
func kindOf(f *pflag.Flag) string {
	if _, ok := f.Value.(*Format); ok {
		return "text or json"
	}
	switch kind := f.Value.Type(); kind {
	case "int", "int64":
		return "a whole number"
	case "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}
