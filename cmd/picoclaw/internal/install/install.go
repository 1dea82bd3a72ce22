// Package install installs and updates plugin packages after asking the operator about their grants.
//
// It must not know the source of a package.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Options are the options of commands that install or update a plugin.
type Options struct {
	*cli.Factory
	Yes    bool
	Verb   string // the command that accepts a version that waits; "plugin update" if empty
	Also   string // differences besides those of the manifests, shown with them
	Output cli.OutputFormat

	Differs bool // set by an update: whether there were differences
}

// InstallResult is the JSON output of a command that installs or updates a plugin.
type InstallResult struct {
	ID       string `json:"id"`
	Version  string `json:"version"`
	Previous string `json:"previous,omitempty"` // the version that ran before
	Waiting  bool   `json:"waiting,omitempty"`  // the new version needs confirmation; the previous one stays active
	Diff     string `json:"diff,omitempty"`     // differences in tools and grants
}

// AddFlags adds --yes and --output to a command.
func (o *Options) AddFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Yes, "yes", false, "do not ask for confirmation")
	o.AddOutputFlag(cmd, &o.Output)
}

// Confirm asks a yes-or-no question, and returns true without asking if --yes is set.
func (o *Options) Confirm(question string) (bool, error) {
	if o.Yes {
		return true, nil
	}
	return o.AskYesNo(question)
}

// ConfirmAndInstall installs a new package if the user confirms. refusal is the error of a user who does not.
func (o *Options) ConfirmAndInstall(s *PluginInventory, p *store.StagedPackage, question, refusal string) error {
	yes, err := o.Confirm(question)
	if err != nil {
		return cli.FailedError(fmt.Errorf("%s: %w", refusal, err))
	}
	if !yes {
		return cli.FailedError(errors.New(refusal))
	}
	if err := s.Store.InstallPackage(p); err != nil {
		return cli.FailedError(err)
	}
	return o.PrintResult(InstallResult{ID: p.Manifest.ID, Version: p.Manifest.Version})
}

// PrintResult prints the result as JSON or as one line of text.
func (o *Options) PrintResult(r InstallResult) error {
	if o.Output == cli.JSON {
		return o.PrintJSON(r)
	}
	switch {
	case r.Waiting:
		fmt.Fprintf(o.Out, "plugin %s %s is pending; %s stays installed until you accept it with `picoclaw %s %s`\n", r.ID,
			r.Version, r.Previous, cmp.Or(o.Verb, "plugin update"), r.ID)
	case r.Previous == r.Version:
		fmt.Fprintf(o.Out, "plugin %s %s is unchanged\n", r.ID, r.Version)
	case r.Previous != "":
		fmt.Fprintf(o.Out, "plugin %s is updated to %s from %s\n", r.ID, r.Version, r.Previous)
	default:
		fmt.Fprintf(o.Out, "plugin %s %s is installed\n", r.ID, r.Version)
	}
	return nil
}

// UpdatePlugin replaces an installed plugin with another version. If the user does not confirm changed tools or
// grants, the version is staged and the old one stays active.
func (o *Options) UpdatePlugin(s *PluginInventory, p *store.StagedPackage, pin *store.InstalledPlugin) error {
	id := p.Manifest.ID
	r := InstallResult{ID: id, Version: p.Manifest.Version, Previous: pin.Version}
	old, err := s.Store.ReadManifest(id, &pin.PluginVersion)
	if err != nil {
		return cli.FailedError(err)
	}
	yes, err := o.confirmChanges(old, p.Manifest, &r)
	if err != nil || !yes {
		// Nobody there to ask is no reason to lose the package: whoever is there later can say yes.
		if err := s.Store.AddWaitingVersion(p); err != nil {
			return cli.FailedError(err)
		}
		r.Waiting = true
		return o.reportWaitingVersion(r)
	}
	if err := s.Store.InstallPackage(p); err != nil {
		return cli.FailedError(err)
	}
	if err := s.Store.RemoveUnusedVersions(); err != nil {
		return cli.FailedError(err)
	}
	return o.PrintResult(r)
}

// confirmChanges shows differences in tools and grants and asks for confirmation; true if there are none.
func (o *Options) confirmChanges(old, next *pluginpb.Manifest, r *InstallResult) (bool, error) {
	diff, err := store.FormatManifestDiff(old, next)
	diff += o.Also
	if err != nil || diff == "" {
		return err == nil, err
	}
	r.Diff, o.Differs = diff, true
	if o.Output != cli.JSON {
		for line := range strings.Lines(diff) {
			fmt.Fprintln(o.Err, terminal.CleanLine(strings.TrimSuffix(line, "\n")))
		}
	}
	return o.Confirm(fmt.Sprintf("Replace plugin %[1]s %[3]s by %[2]s?", r.ID, r.Version, r.Previous))
}

// reportWaitingVersion prints that a version waits for confirmation, and returns an error with exit code 1.
func (o *Options) reportWaitingVersion(r InstallResult) error {
	return cli.ReportedFailure(true, o.PrintResult(r))
}

// AcceptWaitingVersion asks for confirmation of the waiting version and makes it the active one.
func (o *Options) AcceptWaitingVersion(s *PluginInventory, id string, pin *store.InstalledPlugin) error {
	if pin.Waiting == nil {
		return cli.FailedError(fmt.Errorf("no new version of plugin %s is pending; name its directory or archive", id))
	}
	old, err := s.Store.ReadManifest(id, &pin.PluginVersion)
	if err != nil {
		return cli.FailedError(err)
	}
	next, err := s.Store.ReadManifest(id, pin.Waiting)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.Also, err = s.SpecDiff(id, pin); err != nil {
		return cli.FailedError(err)
	}
	r := InstallResult{ID: id, Version: pin.Waiting.Version, Previous: pin.Version}
	yes, err := o.confirmChanges(old, next, &r)
	if err != nil || !yes {
		r.Waiting = true
		return o.reportWaitingVersion(r)
	}
	if _, err := s.Store.ActivateWaitingVersion(id); err != nil {
		return cli.FailedError(err)
	}
	if err := s.Store.RemoveUnusedVersions(); err != nil {
		return cli.FailedError(err)
	}
	return o.PrintResult(r)
}

// PrintGrants prints a plugin's grants, with a summary after label.
func PrintGrants(out *terminal.Writer, label string, g *pluginpb.Grant) {
	fmt.Fprintf(out, "  %-9s %s\n", label, terminal.CleanLine(inventory.SummariseGrants(g)))
	for _, text := range inventory.ExplainGrants(*g) {
		fmt.Fprintf(out, "            %s\n", terminal.CleanLine(text))
	}
}

// PrintResourcesAndPrompts prints the resources and prompts of a plugin, one per line.
func PrintResourcesAndPrompts(out *terminal.Writer, m *pluginpb.Manifest) {
	for _, r := range m.Resources {
		fmt.Fprintf(out, "  resource  %s.%s  %s  %s\n", m.ID, r.Name, terminal.CleanLine(r.URI), terminal.CleanLine(terminal.Shorten(r.Doc, 100)))
	}
	for _, p := range m.Prompts {
		fmt.Fprintf(out, "  prompt    %s.%s  %s\n", m.ID, p.Name, terminal.CleanLine(terminal.Shorten(p.Doc, 100)))
	}
}

// PluginInventory is the inventory of the plugins in a home.
type PluginInventory struct{ *inventory.Inventory }

// OpenPluginInventory reads the inventory of plugins. It starts no plugin.
func OpenPluginInventory(f *cli.Factory) (*PluginInventory, error) {
	cfg, err := f.LoadConfig("")
	if err != nil {
		return nil, err
	}
	home := cfg.Home()
	if home.Fallback {
		return nil, cli.StartError(fmt.Errorf("there is no home for plugins; set PICOCLAW_HOME or HOME to an absolute directory"))
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg})
	if err != nil {
		return nil, cli.StartError(err)
	}
	s, err := inventory.ReadInventory(h)
	if err != nil {
		return nil, cli.StartError(err)
	}
	return &PluginInventory{s}, nil
}

// WithInventory returns a function that runs a command with the inventory.
func WithInventory(run func(*cli.CommonOptions, *PluginInventory) error) func(*cli.CommonOptions) error {
	return func(o *cli.CommonOptions) error {
		s, err := OpenPluginInventory(o.Factory)
		if err != nil {
			return err
		}
		return run(o, s)
	}
}

// FindLockEntry returns the lock file's entry of an installed plugin.
func (s *PluginInventory) FindLockEntry(id string) (*store.InstalledPlugin, error) {
	pin, err := s.FindInstalled(id)
	if err != nil {
		return nil, cli.UsageErrorf("%w", err)
	}
	return pin, nil
}

// IsBundled reports whether a plugin comes with picoclaw.
func (s *PluginInventory) IsBundled(id string) bool {
	return slices.ContainsFunc(s.Catalog.Plugins(), func(p *catalog.Plugin) bool {
		return p.Manifest.ID == id &&
			p.Kind == catalog.BundledPlugin
	})
}

// CheckStoreOutsideWorkspaces returns an error if the plugin store is in a workspace: an agent could change plugins.
func (s *PluginInventory) CheckStoreOutsideWorkspaces() error {
	for _, id := range s.Config.AgentIDs() {
		p, err := policy.PreviewPolicy(s.Config, id)
		if err != nil {
			return err
		}
		if paths.Within(p.WorkspacePath(), s.Store.PluginsDir()) {
			return fmt.Errorf("the plugin store %s is inside the workspace of agent %s, %s; change the workspace, or PICOCLAW_HOME",
				s.Store.PluginsDir(), id, p.WorkspacePath())
		}
	}
	return nil
}
