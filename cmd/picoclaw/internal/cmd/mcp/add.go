package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/login"
	"github.com/picoclaw/picoclaw/host/mcpservers"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// sharedServerOptions are the options that commands about an MCP server share.
type sharedServerOptions struct {
	install.Options
	name           string
	spec           mcpservers.ServerSpec
	declaredDigest string // digest of the configured server; empty if it is not in the configuration

	env, headers, claims []string // as on the command line
	login                loginFlags
}

// AddOptions are the options of `picoclaw mcp add`.
type AddOptions struct{ sharedServerOptions }

func NewCmdAdd(f *cli.Factory, runF func(*AddOptions) error) *cobra.Command {
	o := &AddOptions{sharedServerOptions: sharedServerOptions{Options: install.Options{Factory: f}}}
	cmd := &cobra.Command{
		Use:   "add NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: "Add an MCP server's tools, confined and pinned",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageErrorf("name the server, and its command behind --, such as: picoclaw mcp add everything -- npx -y @modelcontextprotocol/server-everything")
			}
			if cmd.ArgsLenAtDash() == 0 {
				return cli.UsageErrorf("name the server in front of --, such as: picoclaw mcp add NAME -- %s", strings.Join(args, " "))
			}
			o.name, o.spec.Command = args[0], args[1:]
			return o.parseServerSpec()
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.addSpecFlags(cmd)
	o.login.addFlags(cmd)
	return cli.SetRunContext(cmd, o, (*AddOptions).addServer, runF)
}

// addSpecFlags adds the flags that describe a server and its grants.
func (o *sharedServerOptions) addSpecFlags(cmd *cobra.Command) {
	o.addGrantFlags(cmd, "none")
	flags := cmd.Flags()
	flags.StringSliceVar(&o.spec.Agents, "agent", nil, "`AGENTS` that may use the server (default: all)")
	flags.StringVar(&o.spec.URL, "url", "", "`URL` of a server over HTTP")
	flags.StringArrayVar(&o.headers, "header", nil, "HTTP `HEADER` for the server, as in \"Name: value\"")
	flags.StringArrayVar(&o.env, "env", nil, "environment variable, as `NAME=VALUE`")
	flags.StringArrayVar(&o.claims, "claim", nil, "claim of an argument, as `TOOL.FIELD=CLAIM`: read, write, list, delete, command or none")
	flags.StringVar(&o.spec.Files, "files", "", "`DIR` that the command needs; it is copied")
	flags.BoolVar(&o.spec.Browser, "browser", false, "let the server start this machine's Chromium, and any program")
	flags.BoolVar(&o.spec.IgnoreScripts, "ignore-scripts", false, "do not run install scripts of npm packages")
	flags.BoolVar(&o.spec.Roots, "roots", false, "send the workspace as an MCP root")
	o.AddFlags(cmd)
}

// addGrantFlags adds the flags of the grants that can be changed after the installation.
func (o *sharedServerOptions) addGrantFlags(cmd *cobra.Command, workspace string) {
	flags := cmd.Flags()
	flags.StringVar(&o.spec.Workspace, "workspace", workspace, "access to the agent's workspace: none, ro or rw")
	flags.StringSliceVar(&o.spec.Network, "network", nil, "`HOSTS` that the server may reach, * for any (default: none)")
	flags.StringSliceVar(&o.spec.Secrets, "secret", nil, "`NAMES` of secrets that the server may use without seeing them")
	flags.StringSliceVar(&o.spec.Programs, "program", nil, "additional `PROGRAMS` that the server may start, * for any")
}

// addServer installs the server that the command line describes as a plugin.
func (o *AddOptions) addServer(ctx context.Context) error {
	name := o.name
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	if err := pluginpb.CheckPluginID(name); err != nil {
		return cli.UsageErrorf("%v", err)
	}
	if s.Lock.Plugins[name] != nil {
		return cli.FailedError(fmt.Errorf("plugin %s already exists; update it with `picoclaw mcp update %s`, or remove it with `picoclaw mcp remove %s`", name, name, name))
	}
	if _, declared := s.Config.MCPServers()[name]; declared {
		return cli.FailedError(fmt.Errorf("the server %s is in the configuration; `picoclaw mcp trust %s` inspects it", name, name))
	}
	return o.installServer(ctx, s, name, nil)
}

// parseServerSpec parses --env, --header and --claim, and checks the server's specification.
func (o *sharedServerOptions) parseServerSpec() error {
	for _, list := range []struct {
		name, between string
		from          []string
		to            *map[string]string
	}{
		{"env", "=", o.env, &o.spec.Env}, {"header", ":", o.headers, &o.spec.Headers}, {"claim", "=", o.claims, &o.spec.Claims},
	} {
		for _, text := range list.from {
			key, value, ok := strings.Cut(text, list.between)
			if key = strings.TrimSpace(key); !ok || key == "" {
				return cli.UsageErrorf("--%s %q: want NAME%sVALUE", list.name, text, list.between)
			}
			if *list.to == nil {
				*list.to = map[string]string{}
			}
			(*list.to)[key] = strings.TrimSpace(value)
		}
	}
	if err := o.spec.Validate(); err != nil {
		return cli.UsageErrorf("%v", err)
	}
	return nil
}

// installServer signs in to a server at a URL that requests it, and installs the server or updates the plugin in pin.
func (o *sharedServerOptions) installServer(ctx context.Context, s *install.PluginInventory, name string, pin *store.InstalledPlugin) error {
	signedIn, err := o.signInIfRequested(ctx, s, name)
	if err == nil {
		err = o.buildAndInstallServer(ctx, s, name, pin)
	}
	if err != nil && signedIn {
		_, removeErr := login.RemoveLogin(s.Config.Home().Path, name)
		err = errors.Join(err, removeErr)
	}
	return err
}

// signInIfRequested signs in to a server at a URL if the server requests it, and there is neither a login nor a header
// with credentials. It reports whether there is a new login.
func (o *sharedServerOptions) signInIfRequested(ctx context.Context, s *install.PluginInventory, name string) (bool, error) {
	hasCredentials := func(header string) bool { return strings.EqualFold(header, "Authorization") }
	if o.spec.URL == "" || slices.ContainsFunc(slices.Collect(maps.Keys(o.spec.Headers)), hasCredentials) {
		return false, nil
	}
	if known, err := login.FindLogin(s.Config.Home().Path, name); err != nil || known != nil {
		return false, cli.FailedError(err)
	}
	requested, err := o.login.signIn(ctx, o.Factory, s, name, o.spec.URL)
	if !requested {
		return false, nil // the inspection reports a server that can't be reached
	}
	return err == nil, err
}

// buildAndInstallServer builds the package and installs it, or updates the plugin in pin.
func (o *sharedServerOptions) buildAndInstallServer(ctx context.Context, s *install.PluginInventory, name string, pin *store.InstalledPlugin) error {
	if err := s.CheckStoreOutsideWorkspaces(); err != nil {
		return cli.FailedError(err)
	}
	if s.IsBundled(name) {
		return cli.FailedError(fmt.Errorf("plugin %s is built in; give the server another name", name))
	}
	if err := session.CheckStateDirName(name); err != nil {
		return cli.FailedError(err)
	}
	if err := o.checkSpecAgainstConfig(s); err != nil {
		return err
	}
	maker, done, err := o.newPackageBuilder(s)
	if err != nil {
		return err
	}
	defer done()
	p, report, err := maker.BuildPackage(ctx, name, &o.spec, newToolOwnerLookup(s, name))
	if err != nil {
		return cli.FailedError(fmt.Errorf("%s was not added: %w", name, err))
	}
	defer p.Discard()
	p.Declared = o.declaredDigest
	if err = s.Catalog.CheckToolNameConflicts(p.Manifest); err != nil {
		return cli.FailedError(fmt.Errorf("%s was not added: %w", name, err))
	}
	if state := session.PluginStateDir(s.Config.Home().Path, name); pin == nil && hasFiles(state) {
		report.Warnings = append(report.Warnings, "it gets the state of an earlier server with this name, in "+state)
	}
	o.printReview(p, report)
	if pin != nil {
		return o.UpdatePlugin(s, p, pin)
	}
	return o.ConfirmAndInstall(s, p, "Add the server "+name+" with these grants?", name+" was not added")
}

// checkSpecAgainstConfig returns an error if an agent, secret or sandbox that the spec needs is missing from the configuration.
func (o *sharedServerOptions) checkSpecAgainstConfig(s *install.PluginInventory) error {
	if ids := s.Config.AgentIDs(); len(o.spec.Agents) > 0 {
		for _, id := range o.spec.Agents {
			if !slices.Contains(ids, id) {
				return cli.UsageErrorf("there is no agent %q%s", id, suggest.DidYouMean(id, ids))
			}
		}
	}
	for _, secret := range o.spec.Secrets {
		if known := s.Config.Secrets(); known[secret].Hosts == nil {
			return cli.FailedError(fmt.Errorf("there is no secret %q; configure its source in secrets.%s", secret, secret))
		}
	}
	if named := o.spec.URL != "" || len(o.spec.Network) > 0; named && !slices.Contains(o.spec.Network, "*") &&
		!s.Config.IsolationEnabled() {
		return cli.FailedError(errors.New("only a sandbox can limit a server to hosts; set isolation.enabled to true, or grant all hosts with --network '*'"))
	}
	return nil
}

// newPackageBuilder returns a package builder that runs the server in a sandbox. done closes the builder's host.
func (o *sharedServerOptions) newPackageBuilder(s *install.PluginInventory) (*mcpservers.PackageBuilder, func(), error) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return nil, nil, cli.StartError(err)
	}
	program := filepath.Join(filepath.Dir(exe), "plugins", "mcp", pluginpb.PluginProgramName("mcp", runtime.GOOS))
	if _, err = os.Stat(program); err != nil {
		return nil, nil, cli.StartError(fmt.Errorf("the plugin mcp is missing: %w; unpack picoclaw's archive as a whole, or run `make build`", err))
	}
	// It has no log: what it has to say is what is not offered, which may be what is looked at here.
	h, err := session.OpenHost(session.HostOptions{Config: s.Config})
	if err != nil {
		return nil, nil, cli.StartError(err)
	}
	sess, err := h.OpenPreviewSession("", session.CLI)
	if err != nil {
		return nil, nil, cli.StartError(err)
	}
	return &mcpservers.PackageBuilder{
		Store: s.Store, Run: sess.RunOperatorProgram, Program: program, Logs: filepath.Join(s.Config.Home().Path, "logs"),
		Progress: func(text string) { fmt.Fprintln(o.Err, text+" …") },
	}, func() { hosts.CloseHost(o.Factory, h) }, nil
}

// newToolOwnerLookup returns a function that returns the plugin, other than id, with a tool of that name.
func newToolOwnerLookup(s *install.PluginInventory, id string) func(string) string {
	others := map[string]string{}
	for _, p := range s.Catalog.Plugins() {
		for _, t := range p.Tools {
			if p.Manifest.ID != id {
				others[t.Spec.Name] = "plugin " + p.Manifest.ID
			}
		}
	}
	return func(tool string) string { return others[tool] }
}

// printReview prints a server's tools, grants and warnings.
func (o *sharedServerOptions) printReview(p *store.StagedPackage, r *mcpservers.PackageReview) {
	out := terminal.NewWriter(o.Err)
	m := p.Manifest
	fmt.Fprintf(out, "%s %s\n", out.Paint(terminal.Bold, m.ID), terminal.CleanLine(m.Version))
	fmt.Fprintf(out, "  server    %s\n", terminal.CleanLine(p.Source))
	if r.Fetched != "" {
		fmt.Fprintf(out, "  package   %s\n", terminal.CleanLine(r.Fetched))
	}
	if len(p.Agents) > 0 {
		fmt.Fprintf(out, "  agents    %s\n", strings.Join(p.Agents, ", "))
	}
	install.PrintGrants(out, "granted", &m.Grants)
	for _, t := range m.Tools {
		doc, more, _ := strings.Cut(t.Doc, "\n")
		fmt.Fprintf(out, "  tool      %s.%s  %s\n", m.ID, t.Name, terminal.CleanLine(terminal.Shorten(doc, 100)))
		if more != "" {
			fmt.Fprintf(out, "            and %d more lines; `picoclaw mcp show %s` prints all\n", strings.Count(more, "\n")+1, m.ID)
		}
		for _, at := range slices.Sorted(maps.Keys(r.Claims)) {
			if tool, field, _ := strings.Cut(at, "."); tool == t.Name {
				fmt.Fprintf(out, "            %s is guarded as: %s\n", terminal.CleanLine(field), r.Claims[at])
			}
		}
	}
	install.PrintResourcesAndPrompts(out, m)
	for _, text := range r.LeftOut {
		fmt.Fprintf(out, "  %s  %s\n", out.Paint(terminal.Bad, "left out"), terminal.CleanLine(text))
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(out, "  %s   %s\n", out.Paint(terminal.Bad, "beware"), terminal.CleanLine(text))
	}
}
