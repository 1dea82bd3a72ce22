package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/store"
)

// InstallOptions are the options of `picoclaw plugin install`.
type InstallOptions struct {
	install.Options
	source string // directory or archive
}

func NewCmdInstall(f *cli.Factory, runF func(*InstallOptions) error) *cobra.Command {
	o := &InstallOptions{Options: install.Options{Factory: f}}
	cmd := &cobra.Command{
		Use:   "install DIR|ARCHIVE",
		Short: "Install a plugin from a directory or an archive",
		Args:  cli.OneArgument(&o.source, "name one directory or archive (.tar.gz, .tgz or .zip) of a plugin"),
	}
	o.AddFlags(cmd)
	return cli.SetRun(cmd, o, (*InstallOptions).installPlugin, runF)
}

func (o *InstallOptions) installPlugin() error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	p, err := stagePackage(s, o.source)
	if err != nil {
		return err
	}
	defer p.Discard()
	id := p.Manifest.ID
	if pin := s.Lock.Plugins[id]; pin != nil {
		return o.UpdatePlugin(s, p, pin)
	}
	o.printReview(p)
	return o.ConfirmAndInstall(s, p, "Install plugin "+id+" with these grants?", "plugin "+id+" was not installed")
}

// stagePackage copies a package into the store's staging directory, and checks for conflicts with other plugins.
func stagePackage(s *install.PluginInventory, source string) (*store.StagedPackage, error) {
	if err := s.CheckStoreOutsideWorkspaces(); err != nil {
		return nil, cli.FailedError(err)
	}
	signed := s.Config.PluginSignatures()
	p, err := s.Store.StagePackage(source, store.SignaturePolicy{Public: signed.Keys, Required: signed.Required})
	if err != nil {
		return nil, cli.FailedError(fmt.Errorf("%w; nothing was installed", err))
	}
	if s.IsBundled(p.Manifest.ID) {
		p.Discard()
		return nil, cli.FailedError(fmt.Errorf("plugin %s is built in and can't be replaced", p.Manifest.ID))
	}
	if err := s.Catalog.CheckToolNameConflicts(p.Manifest); err != nil {
		p.Discard()
		return nil, cli.FailedError(fmt.Errorf("plugin %s can't be installed: %w", p.Manifest.ID, err))
	}
	return p, nil
}

// printReview prints a plugin's tools and requested grants.
func (o *InstallOptions) printReview(p *store.StagedPackage) {
	out := terminal.NewWriter(o.Err)
	m := p.Manifest
	fmt.Fprintf(out, "%s %s  %s\n", out.Paint(terminal.Bold, m.ID), terminal.CleanLine(m.Version), terminal.CleanLine(m.Doc))
	signed := "no key of signatures.keys"
	if p.Signer != "" {
		signed = "key " + p.Signer
	}
	fmt.Fprintf(out, "  from      %s\n  signed by %s\n", terminal.CleanLine(p.Source), signed)
	install.PrintGrants(out, "asks for", &m.Grants)
	for _, t := range m.Tools {
		name := fmt.Sprintf("%s (risk: %s)", t.Name, cmp.Or(t.Risk, "unknown"))
		fmt.Fprintf(out, "  tool      %s  %s\n", terminal.CleanLine(name), terminal.CleanLine(t.Doc))
	}
	install.PrintResourcesAndPrompts(out, m)
}

// UpdateOptions are the options of `picoclaw plugin update`.
type UpdateOptions struct {
	install.Options
	source string // directory, archive or id of an installed plugin
}

func NewCmdUpdate(f *cli.Factory, runF func(*UpdateOptions) error) *cobra.Command {
	o := &UpdateOptions{Options: install.Options{Factory: f}}
	cmd := &cobra.Command{
		Use:   "update DIR|ARCHIVE|ID",
		Short: "Update an installed plugin from a directory or an archive, or accept a version that waits",
		Args: cli.OneArgument(&o.source,
			"name one directory or archive of an installed plugin, or one whose new version waits"),
		ValidArgsFunction: completePlugins(f),
	}
	o.AddFlags(cmd)
	return cli.SetRun(cmd, o, (*UpdateOptions).runUpdate, runF)
}

func (o *UpdateOptions) runUpdate() error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	if pin := s.Lock.Plugins[o.source]; pin != nil {
		return o.AcceptWaitingVersion(s, o.source, pin)
	}
	if _, err = os.Stat(o.source); errors.Is(err, fs.ErrNotExist) {
		if _, unknown := s.FindLockEntry(o.source); unknown != nil {
			return fmt.Errorf("%w; there is no package of this name either", unknown)
		}
	}
	p, err := stagePackage(s, o.source)
	if err != nil {
		return err
	}
	defer p.Discard()
	pin, err := s.FindLockEntry(p.Manifest.ID)
	if err != nil {
		return err
	}
	return o.UpdatePlugin(s, p, pin)
}
