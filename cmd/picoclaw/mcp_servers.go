package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/servers"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// listedServer is an MCP server as scripts read it.
type listedServer struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	State   string            `json:"state"` // ok, changed, waiting or broken
	Why     string            `json:"why,omitempty"`
	Server  string            `json:"server"`
	Package string            `json:"package,omitempty"`
	Agents  []string          `json:"agents,omitempty"` // the only ones that it is for
	Granted *pluginpb.Grant   `json:"granted"`
	Tools   map[string]string `json:"tools"`          // the server's names by ours
	Diff    string            `json:"diff,omitempty"` // what is different from what was accepted
}

// servers lists the MCP servers that were added, sorted by name.
func (s *shelf) servers() []listedServer {
	all := []listedServer{}
	for _, id := range slices.Sorted(maps.Keys(s.lock.Plugins)) {
		if pin := s.lock.Plugins[id]; pin.Files[servers.DefinitionFile] != "" {
			all = append(all, s.server(id, pin))
		}
	}
	declared := s.cfg.MCPServers()
	for _, problem := range s.catalog.Problems() {
		server, is := declared[problem.Plugin]
		i := slices.IndexFunc(all, func(one listedServer) bool { return one.Name == problem.Plugin })
		switch {
		case i >= 0:
			all[i].State, all[i].Why = broken, problem.Err.Error()
			if is {
				all[i].State = "changed"
			}
		case is:
			spec := declaredSpec(server)
			all = append(all, listedServer{Name: problem.Plugin, State: "untrusted", Why: problem.Err.Error(),
				Server: spec.Source(), Agents: spec.Agents})
		}
	}
	slices.SortFunc(all, func(a, b listedServer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (s *shelf) server(id string, pin *store.Pin) listedServer {
	out := listedServer{
		Name: id, Version: pin.Version, State: "ok", Server: pin.Source, Agents: pin.Agents, Granted: &pin.Grants,
	}
	fail := func(err error) listedServer {
		out.State, out.Why = broken, err.Error()
		return out
	}
	text, err := s.store.ReadFile(id, pin, servers.DefinitionFile)
	if err != nil {
		return fail(err)
	}
	spec, fetched, names, err := servers.Parse(text)
	if err != nil {
		return fail(err)
	}
	out.Server, out.Package, out.Tools = spec.Source(), fetched, names
	old, err := s.store.Manifest(id, pin)
	if err != nil {
		return fail(err)
	}
	if pin.Waiting != nil {
		next, err := s.store.WaitingManifest(id, pin)
		if err != nil {
			return fail(err)
		}
		out.State, out.Why = "waiting", pin.Waiting.Version+" waits for your yes"
		if out.Diff, err = store.Diff(old, next); err != nil {
			return fail(err)
		}
		asked, err := s.askedDiff(id, pin)
		if err != nil {
			return fail(err)
		}
		out.Diff += asked
		return out
	}
	seen, noted := s.seen(id), host.Withdrawals(s.cfg.Home().Path, id, pin.Version)
	if seen == nil && len(noted) == 0 {
		return out
	}
	out.State, out.Why = "changed", "it describes tools in other words than those that were accepted"
	if len(noted) > 0 {
		out.Why += ": " + withdrawnNames(noted)
	}
	if seen == nil {
		out.Why += "; what it says now can't be shown, as it is gone from its state directory, where the server itself can remove it"
		return out
	}
	next, err := servers.Again(old, spec, fetched, seen)
	if err == nil {
		out.Diff, err = store.Diff(old, next)
	}
	if err != nil {
		out.Why += fmt.Sprintf("; they can't be shown: %v", err)
	}
	return out
}

// withdrawnNames names tools that a plugin has taken back, each with the agent that has called it.
func withdrawnNames(all []host.Withdrawal) string {
	var names []string
	for _, w := range all {
		names = append(names, fmt.Sprintf("%s (agent %s)", w.Tool, w.Agent))
	}
	return strings.Join(names, ", ")
}

// mostSeen is how much of what a server was seen to offer is read, in bytes. Whatever runs as the server can write it.
const mostSeen = 1 << 20

// seen is what a server was seen to offer in place of what was accepted; nil if it was not.
func (s *shelf) seen(id string) []byte {
	for _, agent := range s.cfg.AgentIDs() {
		root, err := os.OpenRoot(filepath.Join(host.StateOf(s.cfg.Home().Path, id), agent))
		if err != nil {
			continue
		}
		info, err := root.Lstat(servers.SeenFile)
		var text []byte
		if err == nil && info.Mode().IsRegular() && info.Size() <= mostSeen {
			text, err = root.ReadFile(servers.SeenFile)
		}
		_ = root.Close()
		if err == nil && json.Valid(text) {
			return text
		}
	}
	return nil
}

// forgetSeen removes what a server was seen to offer: something was accepted since.
func (s *shelf) forgetSeen(id string) error {
	if err := host.ForgetWithdrawals(s.cfg.Home().Path, id); err != nil {
		return err
	}
	for _, agent := range s.cfg.AgentIDs() {
		// Whatever the server has put there, a directory perhaps.
		if err := os.RemoveAll(filepath.Join(host.StateOf(s.cfg.Home().Path, id), agent, servers.SeenFile)); err != nil {
			return err
		}
	}
	return nil
}

// addedServer returns the pin of an MCP server.
func (s *shelf) addedServer(name string) (*store.Pin, error) {
	if pin := s.lock.Plugins[name]; pin != nil && pin.Files[servers.DefinitionFile] != "" {
		return pin, nil
	}
	var names []string
	for _, one := range s.servers() {
		names = append(names, one.Name)
	}
	return nil, usage("there is no MCP server %q%s; `picoclaw mcp list` shows those that there are", name,
		nearest.Suggest(name, names))
}

func newMCPList(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the MCP servers that were added, and what is different from what was accepted",
		Example: "  picoclaw mcp list\n  picoclaw mcp list --output json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, err := a.shelf()
			if err != nil {
				return err
			}
			all := s.servers()
			if output == "json" {
				return a.printJSON(all)
			}
			if len(all) == 0 {
				fmt.Fprintln(a.stdout, "no MCP server was added; `picoclaw mcp add --help` says how, and `picoclaw mcp import` takes a client's")
				return nil
			}
			table := terminal.NewTable("NAME", "VERSION", "STATE", "TOOLS", "GRANTS", "SERVER")
			for _, one := range all {
				table.Row(one.Name, one.Version, one.State, fmt.Sprint(len(one.Tools)), grantText(one.Granted), one.Server)
				if one.State != "ok" {
					table.Style(2, terminal.Bad)
				}
			}
			out := terminal.New(a.stdout)
			if err := table.Write(out); err != nil {
				return err
			}
			for _, one := range all {
				if one.Why == "" {
					continue
				}
				fmt.Fprintf(out, "\n%s: %s\n", out.Paint(terminal.Bad, one.Name), terminal.Line(one.Why))
				showDiff(out, one.Diff)
				if one.State != broken {
					fmt.Fprintf(out, "`picoclaw mcp trust %s` accepts it\n", one.Name)
				}
			}
			return nil
		},
	}
	a.outputFlag(cmd, &output)
	return cmd
}

func newMCPShow(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show an MCP server: what it is granted, and its tools",
		Example: "  picoclaw mcp show everything",
		Args:    oneServer,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format(output); err != nil {
				return err
			}
			s, err := a.shelf()
			if err != nil {
				return err
			}
			all := s.servers()
			i := slices.IndexFunc(all, func(one listedServer) bool { return one.Name == args[0] })
			if i < 0 {
				_, err := s.addedServer(args[0])
				return err
			}
			one, pin := all[i], s.lock.Plugins[args[0]]
			if output == "json" {
				return a.printJSON(one)
			}
			out := terminal.New(a.stdout)
			fmt.Fprintf(out, "%s %s\n", out.Paint(terminal.Bold, one.Name), strings.TrimSpace(one.Version+" ("+one.State+")"))
			fmt.Fprintf(out, "  server    %s\n", terminal.Line(one.Server))
			if one.Package != "" {
				fmt.Fprintf(out, "  package   %s\n", terminal.Line(one.Package))
			}
			if len(one.Agents) > 0 {
				fmt.Fprintf(out, "  agents    %s\n", strings.Join(one.Agents, ", "))
			}
			if pin != nil {
				s.showAccepted(out, one, pin)
			}
			if one.Why != "" {
				fmt.Fprintf(out, "%s\n", terminal.Line(one.Why))
				showDiff(out, one.Diff)
			}
			return nil
		},
		ValidArgsFunction: a.serverNames,
	}
	a.outputFlag(cmd, &output)
	return cmd
}

// showAccepted shows what was accepted of a server: what it is granted, and its tools in full.
func (s *shelf) showAccepted(out *terminal.Out, one listedServer, pin *store.Pin) {
	fmt.Fprintf(out, "  granted   %s\n", terminal.Line(grantText(&pin.Grants)))
	for _, text := range meaning(pin.Grants) {
		fmt.Fprintf(out, "            %s\n", terminal.Line(text))
	}
	m, err := s.store.Manifest(one.Name, pin)
	if err != nil {
		return
	}
	for _, t := range m.Tools {
		fmt.Fprintf(out, "  tool      %s.%s\n", one.Name, t.Name)
		for line := range strings.Lines(t.Doc) {
			fmt.Fprintf(out, "            %s\n", terminal.Line(strings.TrimSuffix(line, "\n")))
		}
		showArguments(out, &t)
	}
}

// mostDiffLines is how many lines of a difference are shown: a stranger has written them.
const mostDiffLines = 200

func showDiff(out *terminal.Out, diff string) {
	n := 0
	for line := range strings.Lines(diff) {
		if n++; n > mostDiffLines {
			fmt.Fprintf(out, "… and %d lines more; --output json has all\n", strings.Count(diff, "\n")-mostDiffLines)
			return
		}
		fmt.Fprintln(out, terminal.Line(strings.TrimSuffix(line, "\n")))
	}
}

// showArguments shows what a model is told of a tool's arguments.
func showArguments(out *terminal.Out, t *pluginpb.Spec) {
	input, err := t.Input.Parse()
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(input.Properties)) {
		fmt.Fprintf(out, "            %s: %s\n", terminal.Line(name), terminal.Line(input.Properties[name].Description))
	}
}

// oneServer is for a command that takes the name of one server.
func oneServer(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes the name of one server, as `picoclaw mcp list` shows it", spoken(cmd))
	}
	return nil
}

// serverNames proposes servers.
func (a *app) serverNames(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := a.shelf()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, one := range s.servers() {
		names = append(names, one.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
