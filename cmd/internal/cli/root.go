package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// RunRootCommand runs the command tree that newRoot returns, prints its error, and returns the exit code.
func RunRootCommand(args []string, f *Factory, newRoot func(*Factory) *cobra.Command) int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	f.Out = NewFirstErrorWriter(f.Out)
	root := newRoot(f)
	root.SetArgs(args)
	root.SetIn(f.In)
	root.SetOut(f.Out)
	root.SetErr(f.Err)
	err := root.ExecuteContext(ctx)
	if unwritten := FirstWriteError(f.Out); unwritten != nil {
		fmt.Fprintln(f.Err, "picoclaw: the result could not be written:", unwritten)
		return ExitFailed
	}
	if err != nil && err.Error() != "" {
		text := err.Error()
		if fulldisk.IsFullDiskError(err) {
			text += "; " + fulldisk.Remedy
		}
		fmt.Fprintln(f.Err, "picoclaw: "+terminal.NewWriter(f.Err).ReplaceControls(text))
	}
	return ExitCode(err)
}

// ConfigureRoot adds the version, the global flags, and errors with suggestions to a program's root command.
func ConfigureRoot(f *Factory, root *cobra.Command) *cobra.Command {
	root.Use, root.Version = "picoclaw", f.VersionText()
	root.Args, root.RunE = cobra.ArbitraryArgs, HelpOrUnknownCommand
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return f.CheckLogFlags() }
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions = cobra.CompletionOptions{DisableDefaultCmd: true}
	root.SetVersionTemplate("picoclaw {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `file` (also PICOCLAW_CONFIG)")
	flags.StringVar(&f.Workspace, "workspace", "", "the agent's workspace `directory`, in place of the configured one")
	flags.StringVar(&f.LogLevel, "log-level", "", "trace, debug, info, warn, error or off (also PICOCLAW_LOG_LEVEL)")
	flags.StringVar(&f.LogFormat, "log-format", "", "text or json (also PICOCLAW_LOG_FORMAT)")
	f.SetFlagCompletion(root, "log-level", NewWordCompleter(logLevels()...))
	f.SetFlagCompletion(root, "log-format", NewWordCompleter(logFormats()...))
	f.SetFlagCompletion(root, "workspace", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	root.SetFlagErrorFunc(explainFlagError)
	setWrappedHelp(root)
	return root
}

// HelpOrUnknownCommand prints the command's help without args, and else returns a usage error about an unknown command.
func HelpOrUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
		if slices.Contains(sub.SuggestFor, args[0]) {
			return UsageErrorf("unknown command %q; did you mean %q?; `picoclaw --help` lists the commands", args[0], sub.Name())
		}
	}
	return UsageErrorf("unknown command %q%s; `picoclaw --help` lists the commands", args[0], suggest.DidYouMean(args[0], names))
}

// explainFlagError turns an error of pflag into a usage error that suggests a flag or the type of a value.
func explainFlagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return UsageErrorf("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), describeFlagValue(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return UsageErrorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	}
	var names []string
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	if meant := suggest.DidYouMean(unknown.GetSpecifiedName(), names); meant != "" {
		return UsageErrorf("%w%s", err, strings.Replace(meant, `"`, `"--`, 1))
	}
	return UsageErrorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// describeFlagValue returns the kind of value that a flag accepts, such as "a whole number".
func describeFlagValue(f *pflag.Flag) string {
	if _, ok := f.Value.(*OutputFormat); ok {
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

// helpColumns is the maximum length of a line in help texts.
const helpColumns = 80

// helpEntry matches the indented name of a flag or command up to its description, or else the indentation of a line.
var helpEntry = lazyregexp.New(`^ +(-\w, +)?\S+( \S+)? {2,}|^ *`)

// setWrappedHelp makes the help of root and its subcommands wrap at helpColumns.
func setWrappedHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		paragraphs := strings.Split(cmd.Long, "\n\n")
		for i, p := range paragraphs {
			if !strings.Contains(p, "\n ") { // a list keeps its lines
				paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
			}
		}
		cmd.Long = strings.Join(paragraphs, "\n\n")
		var text strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		printHelp(cmd, args)
		cmd.SetOut(out)
		for line := range strings.Lines(text.String()) {
			_, _ = io.WriteString(out, wrapLine(line)) // RunRootCommand reports errors
		}
	})
}

// wrapLine breaks a line at helpColumns and indents the rest like its description.
func wrapLine(line string) string {
	indent := len(helpEntry().FindString(line))
	var b strings.Builder
	for len(line) > helpColumns+1 { // with its line feed
		at := strings.LastIndexByte(line[:helpColumns+1], ' ')
		if at <= indent {
			break
		}
		b.WriteString(line[:at] + "\n")
		line = strings.Repeat(" ", indent) + line[at+1:]
	}
	return b.String() + line
}
