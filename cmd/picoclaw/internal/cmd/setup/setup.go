// Package setup has the command init.
package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/clients"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// InitOptions are the options of `picoclaw init`.
type InitOptions struct {
	*cli.Factory
	agent       string
	output      cli.OutputFormat
	clients     []string
	level, file string
	yes         bool
	examine     func(context.Context) error // shows which protections work here
}

func NewCmdInit(f *cli.Factory, examine func(context.Context) error, runF func(*InitOptions) error) *cobra.Command {
	o := &InitOptions{Factory: f, examine: examine}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up picoclaw, and add it to MCP clients",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(o.clients) == 0 && (o.yes || o.file != "" || o.level != "") {
				return cli.UsageErrorf("--yes, --file and --level go with --client")
			}
			if o.level != "" && !slices.Contains(setupLevels, o.level) {
				return cli.UsageErrorf("--level %q is not known; known are %s", o.level, strings.Join(setupLevels, ", "))
			}
			return cli.NoArguments(cmd, args)
		},
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent that the client works as (default: the first one)")
	f.AddOutputFlag(cmd, &o.output)
	cmd.Flags().StringSliceVar(&o.clients, "client", nil, "`names` of clients, separated by commas")
	f.SetFlagCompletion(cmd, "client", cli.NewWordCompleter(clientIDs()...))
	cmd.Flags().StringVar(&o.level, "level", "", "with --client: run, guard or tools (default: the MCP entry of tools)")
	f.SetFlagCompletion(cmd, "level", cli.NewWordCompleter(setupLevels...))
	cmd.Flags().StringVar(&o.file, "file", "", "with --client: settings `file` to change (default: the client's own)")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "with --client: write without asking")
	return cli.SetRunContext(cmd, o, (*InitOptions).runInit, runF)
}

// clientIDs returns the ids of the supported clients.
func clientIDs() []string {
	var ids []string
	for _, c := range clients.AllClients() {
		ids = append(ids, c.ID)
	}
	return ids
}

func (o *InitOptions) runInit(ctx context.Context) error {
	chosen, err := o.selectClients()
	if err != nil {
		return err
	}
	result, err := o.prepareHome(ctx)
	if err != nil {
		return err
	}
	server, err := o.newServerEntry(result)
	if err != nil {
		return cli.StartError(err)
	}
	switch {
	case len(chosen) > 0:
		for _, client := range chosen {
			if err = o.setUpClient(client, server, result); err != nil {
				return err
			}
		}
		return nil
	case o.output == cli.JSON:
		return o.printSetupJSON(result, server)
	}
	out := terminal.NewWriter(o.Out)
	result.printSummary(out)
	fmt.Fprintln(o.Out)
	// What it finds is not a failure of setting up.
	if err := o.examine(ctx); err != nil && err.Error() != "" {
		fmt.Fprintln(o.Err, "picoclaw:", err)
	}
	return o.printClientEntries(out, server)
}

func (o *InitOptions) selectClients() (chosen []clients.ClientProgram, err error) {
	for _, name := range o.clients {
		at := slices.IndexFunc(clients.AllClients(), func(c clients.ClientProgram) bool { return c.ID == name })
		if at < 0 {
			return nil, cli.UsageErrorf("--client %q is not known%s; known are %s", name, suggest.DidYouMean(name, clientIDs()),
				strings.Join(clientIDs(), ", "))
		}
		chosen = append(chosen, clients.AllClients()[at])
	}
	return chosen, nil
}

// newServerEntry returns an entry that starts this picoclaw with this configuration and the workspace of --workspace.
func (o *InitOptions) newServerEntry(result *initResult) (clients.ServerEntry, error) {
	cfg := result.cfg
	command, err := executablePath()
	if err != nil {
		return clients.ServerEntry{}, err
	}
	s := clients.ServerEntry{Name: "picoclaw", Command: command, Args: []string{"mcp"}}
	if o.agent != "" {
		if _, err := policy.PreviewPolicy(cfg, o.agent); err != nil {
			return s, err
		}
		s.Name += "-" + o.agent
		s.Args = append(s.Args, "--agent", o.agent)
	}
	if o.Workspace != "" {
		s.Args = append(s.Args, "--workspace", result.workspace)
	}
	if home := cfg.Home(); home.Origin.Source == config.VariableSource {
		s.Env = map[string]string{home.Origin.Name: home.Path}
	}
	// The client's picoclaw finds the home's own file by itself, and no other.
	if file := cfg.FilePath(); file != "" && file != filepath.Join(cfg.Home().Path, "config.json") && o.HasExplicitConfigFile() {
		s.Args = append(s.Args, "--config", file)
	}
	return s, nil
}

// executablePath returns the path of this program. The path in PATH is preferred: it stays valid after an upgrade.
func executablePath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	named, err := exec.LookPath("picoclaw")
	if err != nil || !filepath.IsAbs(named) {
		return self, nil
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(named)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return self, nil
	}
	return named, nil
}
