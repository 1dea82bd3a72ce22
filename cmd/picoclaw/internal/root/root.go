// Package root builds the command tree of picoclaw.
package root

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/agent"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/approvals"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/audit"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/call"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/completion"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/config"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/console"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/cron"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/doctor"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/fleet"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/gateway"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/hook"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/hub"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/mcp"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/plugin"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/run"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/setup"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/stop"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/undo"
	versioncmd "github.com/picoclaw/picoclaw/cmd/picoclaw/internal/cmd/version"
)

// NewRootCommand returns the command picoclaw with all its subcommands.
func NewRootCommand(f *cli.Factory) *cobra.Command {
	root := cli.ConfigureRoot(f, &cobra.Command{
		Short: "Let an AI agent work on this machine without trusting it",
	})
	root.SetHelpCommand(newHelpCommand(root))

	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	add("agent", "Agent commands:", run.NewCmdRun(f, nil), run.NewCmdTrust(f, nil), hook.NewCmdHook(f, nil), agent.NewCmdAgent(f, nil), mcp.NewCmdMCP(f, nil), gateway.NewCmdGateway(f, nil),
		fleet.NewCmdWorker(f, nil), call.NewCmdCall(f, nil), call.NewCmdBatch(f, nil), call.NewCmdTools(f, nil))
	add("operator", "Policy and audit commands:", call.NewCmdExplain(f, nil), approvals.NewCmdApprovals(f, nil),
		console.NewCmdConsole(f, nil), audit.NewCmdAudit(f, nil), undo.NewCmdHistory(f, nil), undo.NewCmdUndo(f, nil),
		cron.NewCmdCron(f), run.NewCmdStatus(f, nil), stop.NewCmdStop(f, nil), stop.NewCmdStart(f, nil), hub.NewCmdHub(f), fleet.NewCmdFleet(f))
	examine := func(ctx context.Context) error { return doctor.ReportProtections(ctx, f) }
	add("setup", "Setup commands:", setup.NewCmdInit(f, examine, nil), doctor.NewCmdDoctor(f, nil), config.NewCmdConfig(f),
		agent.NewCmdAgents(f, nil), plugin.NewCmdPlugin(f), completion.NewCmdCompletion(f, nil), versioncmd.NewCmdVersion(f, nil))
	root.AddCommand(doctor.NewCmdSelfTest(f, nil), run.NewCmdSupervisor(f, nil))
	addHelp(root)
	disableFileCompletion(root)
	return root
}

// newHelpCommand returns the hidden command help, for users who do not know --help.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeSubcommands(root, args)
		},
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return cli.HelpOrUnknownCommand(root, args)
			}
			if len(rest) > 0 {
				return cli.HelpOrUnknownCommand(cmd, rest)
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// completeSubcommands proposes the subcommands of the command that words name.
func completeSubcommands(root *cobra.Command, words []string) ([]cobra.Completion, cobra.ShellCompDirective) {
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

// fileArgumentCommands are the paths of the commands that take a file or directory as argument.
var fileArgumentCommands = []string{"picoclaw plugin install", "picoclaw plugin check"}

// disableFileCompletion keeps shells from proposing file names, their default, for commands without file arguments.
func disableFileCompletion(cmd *cobra.Command) {
	if cmd.ValidArgsFunction == nil && !slices.Contains(fileArgumentCommands, cmd.CommandPath()) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		disableFileCompletion(sub)
	}
}

// helpText has the long help of commands: a section for each, which begins with "== " and the command's name.
//
//go:embed help.txt
var helpText string

// addHelp sets the description and the examples of a command and its subcommands from [helpText].
func addHelp(cmd *cobra.Command) {
	if _, section, found := strings.Cut(helpText, "\n== "+cli.SubcommandPath(cmd)+"\n"); found {
		section, _, _ = strings.Cut(section, "\n== ")
		long, example, _ := strings.Cut(section, "Examples:\n")
		cmd.Long, cmd.Example = strings.TrimSpace(long), strings.Trim(example, "\n")
	}
	for _, sub := range cmd.Commands() {
		addHelp(sub)
	}
}
