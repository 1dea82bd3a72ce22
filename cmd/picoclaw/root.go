package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/agent"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/approvals"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/audit"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/call"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/completion"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/config"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/console"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/cron"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/docs"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/doctor"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/fleet"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/gateway"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/hub"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/mcp"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/plugin"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/setup"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/stop"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/undo"
	versioncmd "github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/version"
	"github.com/picoclaw/picoclaw/internal/nearest"
)

func newRoot(f *cli.Factory) *cobra.Command {
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
		PersistentPreRunE: func(*cobra.Command, []string) error { return f.CheckLogging() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           f.VersionText(),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("picoclaw {{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	flags := root.PersistentFlags()
	flags.StringVar(&f.ConfigFile, "config", "", "configuration `file` (also PICOCLAW_CONFIG)")
	flags.StringVar(&f.Workspace, "workspace", "", "the agent's workspace `directory`, in place of the configured one")
	flags.StringVar(&f.LogLevel, "log-level", "", "trace, debug, info, warn, error or off (also PICOCLAW_LOG_LEVEL)")
	flags.StringVar(&f.LogFormat, "log-format", "", "text or json (also PICOCLAW_LOG_FORMAT)")
	f.CompleteFlag(root, "log-level", cli.CompleteWords(cli.LogLevels...))
	f.CompleteFlag(root, "log-format", cli.CompleteWords(cli.LogFormats...))
	f.CompleteFlag(root, "workspace", cli.CompleteDirectories)
	root.SetFlagErrorFunc(flagError)

	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	add("agent", "What an agent does:", agent.NewCmdAgent(f, nil), mcp.NewCmdMCP(f, nil), gateway.NewCmdGateway(f, nil),
		fleet.NewCmdWorker(f, nil), call.NewCmdCall(f, nil), call.NewCmdBatch(f, nil), call.NewCmdTools(f, nil),
		call.NewCmdREPL(f, nil))
	add("operator", "What it may do, and has done:", call.NewCmdExplain(f, nil), approvals.NewCmdApprovals(f, nil),
		console.NewCmdConsole(f, nil), audit.NewCmdAudit(f, nil), undo.NewCmdHistory(f, nil), undo.NewCmdUndo(f, nil),
		cron.NewCmdCron(f), stop.NewCmdStop(f, nil), stop.NewCmdStart(f, nil), hub.NewCmdHub(f, nil), fleet.NewCmdFleet(f))
	examine := func(ctx context.Context) error { return doctor.Examine(ctx, f) }
	add("setup", "Setting up:", setup.NewCmdInit(f, examine, nil), doctor.NewCmdDoctor(f, nil), config.NewCmdConfig(f),
		agent.NewCmdAgents(f, nil), plugin.NewCmdPlugin(f), completion.NewCmdCompletion(f, nil), docs.NewCmdMan(f, nil),
		versioncmd.NewCmdVersion(f, nil))
	root.AddCommand(docs.NewCmdDocs(f, nil), doctor.NewCmdSelfTest(f, nil))
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
			return cli.Usagef("unknown command %q; did you mean %q?; `picoclaw --help` lists the commands", args[0], sub.Name())
		}
	}
	return cli.Usagef("unknown command %q%s; `picoclaw --help` lists the commands", args[0], nearest.Suggest(args[0], names))
}

// flagError says which flag was meant.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return cli.Usagef("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), kindOf(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return cli.Usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	}
	var names []string
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	if meant := nearest.Suggest(unknown.GetSpecifiedName(), names); meant != "" {
		return cli.Usagef("%w%s", err, strings.Replace(meant, `"`, `"--`, 1))
	}
	return cli.Usagef("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// kindOf says what a flag's value has to be.
func kindOf(f *pflag.Flag) string {
	if _, ok := f.Value.(*cli.Format); ok {
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

// completeCommands proposes the commands below the one that words name.
func completeCommands(root *cobra.Command, words []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cmd, rest, err := root.Find(words)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// filesAfter are the commands that take a file or a directory.
func filesAfter() []string {
	return []string{"picoclaw plugin install", "picoclaw plugin check", "picoclaw docs"}
}

// withoutFiles keeps shells from proposing files to commands that take none: that is what they do unless they are told.
func withoutFiles(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && !slices.Contains(filesAfter(), cmd.CommandPath()) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		withoutFiles(sub)
	}
}
