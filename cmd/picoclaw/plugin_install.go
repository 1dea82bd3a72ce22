package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/inventory"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// pluginInstall is `picoclaw plugin install` and `update`.
type pluginInstall struct {
	*app
	yes    bool
	verb   string // the command that accepts a version that waits; "plugin update" if empty
	also   string // what is different besides in a version that is to take another's place
	output outputFormat

	differs bool // whether something was, once it has taken that
}

// installedPlugin is what was done, as scripts read it.
type installedPlugin struct {
	ID       string `json:"id"`
	Version  string `json:"version"`
	Previous string `json:"previous,omitempty"` // the version that ran before
	Waiting  bool   `json:"waiting,omitempty"`  // it waits for a yes, and the previous one runs on
	Diff     string `json:"diff,omitempty"`     // what is different in what it offers and asks for
}

// pluginInstallOptions are the options of `picoclaw plugin install`.
type pluginInstallOptions struct{ pluginInstall }

func newPluginInstall(a *app, runF func(*pluginInstallOptions) error) *cobra.Command {
	o := &pluginInstallOptions{pluginInstall{app: a}}
	cmd := &cobra.Command{
		Use:   "install DIR|ARCHIVE",
		Short: "Install a plugin from a directory or an archive",
		Long: `Shows what a plugin offers and asks for, asks, and puts it into the store below the home. Nothing of it is run. The lock
file, picoclaw.lock, says from then on what every file of it must be, and what it was granted.`,
		Example: "  picoclaw plugin install wordcount/bin/wordcount\n  picoclaw plugin install wordcount-1.0.0.tar.gz --yes",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one directory or archive (.tar.gz, .tgz or .zip) of a plugin")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.install(args[0]) },
	}
	o.flags(cmd)
	return newCommand(cmd, o, runF)
}

func (o *pluginInstall) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do it without asking")
	o.app.outputFlag(cmd, &o.output)
}

func (o *pluginInstallOptions) install(source string) error {
	s, err := o.app.shelf()
	if err != nil {
		return err
	}
	p, err := stagePackage(s, source)
	if err != nil {
		return err
	}
	defer p.Discard()
	id := p.Manifest.ID
	if pin := s.Lock.Plugins[id]; pin != nil {
		return o.update(s, p, pin)
	}
	o.show(p)
	yes, err := o.confirm("Install plugin " + id + " and grant it what it asks for?")
	if err != nil {
		return failed(fmt.Errorf("plugin %s was not installed: %w", id, err))
	}
	if !yes {
		return failed(fmt.Errorf("plugin %s was not installed", id))
	}
	if err := s.Store.Install(p); err != nil {
		return failed(err)
	}
	return o.done(installedPlugin{ID: id, Version: p.Manifest.Version})
}

// stagePackage copies a package into the store's staging directory, and looks whether it has a place among the others.
func stagePackage(s *shelf, source string) (*store.Package, error) {
	if err := s.checkReach(); err != nil {
		return nil, failed(err)
	}
	signed := s.Config.Signatures()
	p, err := s.Store.Stage(source, store.Keys{Public: signed.Keys, Required: signed.Required})
	if err != nil {
		return nil, failed(fmt.Errorf("%w; nothing was installed", err))
	}
	if s.comesWith(p.Manifest.ID) {
		p.Discard()
		return nil, failed(fmt.Errorf("plugin %s comes with picoclaw; an installed one can't take its place", p.Manifest.ID))
	}
	if err := s.Catalog.Shadowed(p.Manifest); err != nil {
		p.Discard()
		return nil, failed(fmt.Errorf("plugin %s can't be installed: %w", p.Manifest.ID, err))
	}
	return p, nil
}

// checkReach refuses a store that an agent could write to.
func (s *shelf) checkReach() error {
	for _, id := range s.Config.AgentIDs() {
		p, err := policy.Preview(s.Config, id)
		if err != nil {
			return err
		}
		if paths.Within(p.Workspace(), s.Store.Path()) {
			return fmt.Errorf("the plugin store %s is inside the workspace of agent %s, %s; give the agent another workspace, or picoclaw another home",
				s.Store.Path(), id, p.Workspace())
		}
	}
	return nil
}

// show tells what a plugin offers and asks for.
func (o *pluginInstallOptions) show(p *store.Package) {
	out := terminal.New(o.app.stderr)
	m := p.Manifest
	fmt.Fprintf(out, "%s %s  %s\n", out.Paint(terminal.Bold, m.ID), terminal.Line(m.Version), terminal.Line(m.Doc))
	signed := "nobody that signatures.keys names"
	if p.Signer != "" {
		signed = "key " + p.Signer
	}
	fmt.Fprintf(out, "  from      %s\n  signed by %s\n", terminal.Line(p.Source), signed)
	fmt.Fprintf(out, "  asks for  %s\n", terminal.Line(inventory.GrantText(&m.Grants)))
	for _, text := range inventory.Meaning(m.Grants) {
		fmt.Fprintf(out, "            %s\n", terminal.Line(text))
	}
	for _, t := range m.Tools {
		name := fmt.Sprintf("%s (risk: %s)", t.Name, cmp.Or(t.Risk, "unknown"))
		fmt.Fprintf(out, "  tool      %s  %s\n", terminal.Line(name), terminal.Line(t.Doc))
	}
}

// confirm asks, unless --yes has answered already.
func (o *pluginInstall) confirm(question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	return o.app.ask(question)
}

func (o *pluginInstall) done(r installedPlugin) error {
	if o.output == jsonOutput {
		return o.app.printJSON(r)
	}
	switch {
	case r.Waiting:
		fmt.Fprintf(o.app.stdout, "plugin %s %s waits; %s runs on until `picoclaw %s %s` has your yes\n", r.ID,
			r.Version, r.Previous, cmp.Or(o.verb, "plugin update"), r.ID)
	case r.Previous == r.Version:
		fmt.Fprintf(o.app.stdout, "plugin %s %s offers what was accepted, and stays\n", r.ID, r.Version)
	case r.Previous != "":
		fmt.Fprintf(o.app.stdout, "plugin %s is now %s (it was %s)\n", r.ID, r.Version, r.Previous)
	default:
		fmt.Fprintf(o.app.stdout, "plugin %s %s is installed\n", r.ID, r.Version)
	}
	return nil
}
