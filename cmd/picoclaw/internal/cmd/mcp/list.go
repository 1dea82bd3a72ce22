package mcp

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/mcpservers"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// clearQuarantine removes a server's quarantined tools and observed definitions, after they were accepted.
func clearQuarantine(s *install.PluginInventory, id string) error {
	if err := session.RemoveToolWithdrawals(s.Config.Home().Path, id); err != nil {
		return err
	}
	for _, agent := range s.Config.AgentIDs() {
		// Whatever the server has put there, a directory perhaps.
		if err := os.RemoveAll(filepath.Join(session.PluginStateDir(s.Config.Home().Path, id), agent, mcpservers.CurrentToolsFile)); err != nil {
			return err
		}
	}
	return nil
}

// findServerLockEntry returns the lock file's entry for an MCP server.
func findServerLockEntry(s *install.PluginInventory, name string) (*store.InstalledPlugin, error) {
	if pin := s.Lock.Plugins[name]; pin != nil && pin.Files[mcpservers.DefinitionFile] != "" {
		return pin, nil
	}
	return nil, cli.UsageErrorf("there is no MCP server %q%s; `picoclaw mcp list` lists them", name,
		suggest.DidYouMean(name, serverNames(s)))
}

// serverNames returns the names of the MCP servers.
func serverNames(s *install.PluginInventory) (names []string) {
	for _, one := range s.ListServers() {
		names = append(names, one.Name)
	}
	return names
}

func NewCmdList(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List MCP servers and unaccepted changes"}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(listServers), runF, cli.WithOutput)
}

func listServers(o *cli.CommonOptions, s *install.PluginInventory) error {
	all := s.ListServers()
	if o.Output == cli.JSON {
		return o.PrintJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(o.Out, "no MCP servers; add one with `picoclaw mcp add`, or a client's with `picoclaw mcp import`")
		return nil
	}
	table := terminal.NewTable("NAME", "VERSION", "STATE", "TOOLS", "GRANTS", "SERVER")
	for _, server := range all {
		table.AddRow(server.Name, server.Version, server.State, fmt.Sprint(len(server.Tools)), inventory.SummariseGrants(server.Granted), server.Server)
		if server.State != "ok" {
			table.StyleCell(2, terminal.Bad)
		}
	}
	out := terminal.NewWriter(o.Out)
	if err := table.Write(out); err != nil {
		return err
	}
	for _, server := range all {
		if server.Why == "" {
			continue
		}
		fmt.Fprintf(out, "\n%s: %s\n", out.Paint(terminal.Bad, server.Name), terminal.CleanLine(server.Why))
		printShortDiff(out, server.Diff)
		if server.State != inventory.BrokenState {
			fmt.Fprintf(out, "`picoclaw mcp trust %s` accepts it\n", server.Name)
		}
	}
	return nil
}

func NewCmdShow(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show an MCP server's grants and tools",
		ValidArgsFunction: completeServers(f),
	}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(showServer), runF, cli.WithArgument(oneServerArgument), cli.WithOutput)
}

func showServer(o *cli.CommonOptions, s *install.PluginInventory) error {
	all := s.ListServers()
	i := slices.IndexFunc(all, func(server inventory.ServerInfo) bool { return server.Name == o.Argument })
	if i < 0 {
		_, err := findServerLockEntry(s, o.Argument)
		return err
	}
	server, pin := all[i], s.Lock.Plugins[o.Argument]
	if o.Output == cli.JSON {
		return o.PrintJSON(server)
	}
	out := terminal.NewWriter(o.Out)
	fmt.Fprintf(out, "%s %s\n", out.Paint(terminal.Bold, server.Name), strings.TrimSpace(server.Version+" ("+server.State+")"))
	fmt.Fprintf(out, "  server    %s\n", terminal.CleanLine(server.Server))
	if server.Package != "" {
		fmt.Fprintf(out, "  package   %s\n", terminal.CleanLine(server.Package))
	}
	if len(server.Agents) > 0 {
		fmt.Fprintf(out, "  agents    %s\n", strings.Join(server.Agents, ", "))
	}
	if pin != nil {
		printAcceptedGrantsAndTools(s, out, server, pin)
	}
	if server.Why != "" {
		fmt.Fprintf(out, "%s\n", terminal.CleanLine(server.Why))
		printShortDiff(out, server.Diff)
	}
	return nil
}

// printAcceptedGrantsAndTools prints the accepted grants and tools of a server.
func printAcceptedGrantsAndTools(s *install.PluginInventory, out *terminal.Writer, server inventory.ServerInfo, pin *store.InstalledPlugin) {
	install.PrintGrants(out, "granted", &pin.Grants)
	m, err := s.Store.ReadManifest(server.Name, &pin.PluginVersion)
	if err != nil {
		return
	}
	for _, t := range m.Tools {
		fmt.Fprintf(out, "  tool      %s.%s\n", server.Name, t.Name)
		for line := range strings.Lines(t.Doc) {
			fmt.Fprintf(out, "            %s\n", terminal.CleanLine(strings.TrimSuffix(line, "\n")))
		}
		printArgumentDescriptions(out, &t)
	}
	install.PrintResourcesAndPrompts(out, m)
}

// maxDiffLines limits a diff of untrusted text.
const maxDiffLines = 200

func printShortDiff(out *terminal.Writer, diff string) {
	n := 0
	for line := range strings.Lines(diff) {
		if n++; n > maxDiffLines {
			fmt.Fprintf(out, "… and %d more lines; --output json prints all\n", strings.Count(diff, "\n")-maxDiffLines)
			return
		}
		fmt.Fprintln(out, terminal.CleanLine(strings.TrimSuffix(line, "\n")))
	}
}

// printArgumentDescriptions prints the argument descriptions that a model gets.
func printArgumentDescriptions(out *terminal.Writer, t *pluginpb.ToolSpec) {
	input, err := t.Input.Parse()
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		fmt.Fprintf(out, "            %s: %s\n", terminal.CleanLine(name), terminal.CleanLine(input.Properties[name].Description))
	}
}

// oneServerArgument returns an argument check that stores the name of a server.
func oneServerArgument(name *string) cobra.PositionalArgs {
	return cli.OneArgumentWithNoun(name, "the name of one server, as `picoclaw mcp list` shows it")
}

// completeServers proposes servers.
func completeServers(f *cli.Factory) cobra.CompletionFunc {
	return cli.NewFirstArgumentCompleter(func() []cobra.Completion {
		s, err := install.OpenPluginInventory(f)
		if err != nil {
			return nil
		}
		return serverNames(s)
	})
}
