package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/internal/nearest"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "picoclaw",
		Short: "Let an AI agent work on this machine without trusting it",
		Long: "picoclaw offers an agent tools (files, search, shell, and what plugins add) and holds it to a policy:\n" +
			"every call is decided before it leaves the host, done through file handles that can't be raced,\n" +
			"inside a sandbox of the kernel's.",
		Example: strings.Trim(`
  picoclaw init                                   set it up, and tell MCP clients of it
  picoclaw tools                                  what the agent may call
  picoclaw call read_file path=go.mod             call a tool
  picoclaw explain exec command='rm -rf build'    decide without calling
  picoclaw undo                                   take back its last change to files
  picoclaw audit --denied                         what was refused
  picoclaw mcp                                    serve an agent over MCP on stdin and stdout`, "\n"),
		Args:              cobra.ArbitraryArgs,
		RunE:              unknownCommand,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.checkLogging() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           a.versionText(),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("picoclaw {{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "configuration `file` (also PICOCLAW_CONFIG)")
	flags.StringVar(&a.workspace, "workspace", "", "the agent's workspace `directory`, in place of the configured one")
	flags.StringVar(&a.logLevel, "log-level", "", "trace, debug, info, warn, error or off (also PICOCLAW_LOG_LEVEL)")
	flags.StringVar(&a.logFormat, "log-format", "", "text or json (also PICOCLAW_LOG_FORMAT)")
	a.complete(root, "log-level", fixed(logLevels...))
	a.complete(root, "log-format", fixed(logFormats...))
	a.complete(root, "workspace", directories)
	root.SetFlagErrorFunc(flagError)

	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	add("agent", "What an agent does:", newAgent(a, nil), newMCP(a, nil), newGateway(a, nil), newWorker(a, nil), newCall(a, nil), newBatch(a, nil), newTools(a, nil), newREPL(a, nil))
	add("operator", "What it may do, and has done:", newExplain(a, nil), newApprovals(a, nil), newConsole(a, nil), newAudit(a, nil), newHistory(a, nil), newUndo(a, nil),
		newCron(a), newStop(a, nil), newStart(a, nil), newHub(a, nil), newFleet(a))
	add("setup", "Setting up:", newInit(a, func(ctx context.Context) error { return examine(ctx, a) }, nil), newDoctor(a, nil), newConfig(a), newAgents(a, nil), newPlugin(a), newCompletion(a, nil),
		newMan(a, nil), newVersion(a, nil))
	root.AddCommand(newDocs(a, nil), newSelfTest(a, nil))
	withoutFiles(root)
	return root
}

// newHelp is `picoclaw help`, for those who type it before --help.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  picoclaw help\n  picoclaw help call",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeCommands(root, args)
		},
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return unknownCommand(root, args)
			}
			if len(rest) > 0 {
				return unknownCommand(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// unknownCommand is picoclaw without a command, or with one that there is not.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
		if slices.Contains(sub.SuggestFor, args[0]) {
			return usage("unknown command %q; did you mean %q?; `picoclaw --help` lists the commands", args[0], sub.Name())
		}
	}
	return usage("unknown command %q%s; `picoclaw --help` lists the commands", args[0], nearest.Suggest(args[0], names))
}

// flagError says which flag was meant.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return usage("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), kindOf(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	}
	var names []string
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	if meant := nearest.Suggest(unknown.GetSpecifiedName(), names); meant != "" {
		return usage("%w%s", err, strings.Replace(meant, `"`, `"--`, 1))
	}
	return usage("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// kindOf says what a flag's value has to be.
func kindOf(f *pflag.Flag) string {
	if _, ok := f.Value.(*outputFormat); ok {
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
