package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// pluginUpdateOptions are the options of `picoclaw plugin update`.
type pluginUpdateOptions struct{ pluginInstall }

func newPluginUpdate(a *app, runF func(*pluginUpdateOptions) error) *cobra.Command {
	o := &pluginUpdateOptions{pluginInstall: pluginInstall{app: a}}
	cmd := &cobra.Command{
		Use:   "update DIR|ARCHIVE|ID",
		Short: "Update an installed plugin from a directory or an archive, or accept a version that waits",
		Long: `A version that offers and asks for the same takes the place of the one that runs. What is different in what it offers or
asks for is shown, and it takes the place when you say yes; until then it waits in the store, and the old version runs.`,
		Example: "  picoclaw plugin update wordcount-1.1.0.tar.gz\n  picoclaw plugin update wordcount",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("name one directory or archive of an installed plugin, or one whose new version waits")
			}
			return nil
		},
		ValidArgsFunction: completePlugins(a),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	o.flags(cmd)
	return newCommand(cmd, o, runF)
}

func (o *pluginUpdateOptions) run(args []string) error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	if pin := s.Lock.Plugins[args[0]]; pin != nil {
		return o.accept(s, args[0], pin)
	}
	if _, err := os.Stat(args[0]); errors.Is(err, fs.ErrNotExist) {
		if _, unknown := s.installed(args[0]); unknown != nil {
			return fmt.Errorf("%w; nor is there a package of that name", unknown)
		}
	}
	p, err := stagePackage(s, args[0])
	if err != nil {
		return err
	}
	defer p.Discard()
	pin, err := s.installed(p.Manifest.ID)
	if err != nil {
		return err
	}
	return o.update(s, p, pin)
}

// update puts another version of an installed plugin in the place of the one that runs, or beside it until there is a
// yes.
func (o *pluginInstall) update(s *shelf, p *store.Package, pin *store.Pin) error {
	id := p.Manifest.ID
	r := installedPlugin{ID: id, Version: p.Manifest.Version, Previous: pin.Version}
	old, err := s.Store.Manifest(id, pin)
	if err != nil {
		return failed(err)
	}
	yes, err := o.agree(old, p.Manifest, &r)
	if err != nil || !yes {
		// Nobody there to ask is no reason to lose the package: whoever is there later can say yes.
		if err := s.Store.Hold(p); err != nil {
			return failed(err)
		}
		r.Waiting = true
		return o.waiting(r)
	}
	if err := s.Store.Install(p); err != nil {
		return failed(err)
	}
	if err := s.Store.Sweep(); err != nil {
		return failed(err)
	}
	return o.done(r)
}

// agree asks about a version that offers or asks for something else than the one that runs.
func (o *pluginInstall) agree(old, next *pluginpb.Manifest, r *installedPlugin) (bool, error) {
	diff, err := store.Diff(old, next)
	diff += o.also
	if err != nil || diff == "" {
		return err == nil, err
	}
	r.Diff, o.differs = diff, true
	if o.output != jsonOutput {
		for line := range strings.Lines(diff) {
			fmt.Fprintln(o.app.stderr, terminal.Line(strings.TrimSuffix(line, "\n")))
		}
	}
	return o.confirm(fmt.Sprintf("Let plugin %s %s take the place of %s?", r.ID, r.Version, r.Previous))
}

// waiting tells that a version waits. It is a failure for scripts: what they asked for is not so.
func (o *pluginInstall) waiting(r installedPlugin) error {
	if err := o.done(r); err != nil {
		return err
	}
	return failed(errSaid)
}

// accept makes the version that waits the one that runs.
func (o *pluginInstall) accept(s *shelf, id string, pin *store.Pin) error {
	if pin.Waiting == nil {
		return failed(fmt.Errorf("no new version of plugin %s waits; name the directory or archive that has it", id))
	}
	old, err := s.Store.Manifest(id, pin)
	if err != nil {
		return failed(err)
	}
	next, err := s.Store.WaitingManifest(id, pin)
	if err != nil {
		return failed(err)
	}
	if o.also, err = s.AskedDiff(id, pin); err != nil {
		return failed(err)
	}
	r := installedPlugin{ID: id, Version: pin.Waiting.Version, Previous: pin.Version}
	yes, err := o.agree(old, next, &r)
	if err != nil || !yes {
		r.Waiting = true
		return o.waiting(r)
	}
	if _, err := s.Store.Accept(id); err != nil {
		return failed(err)
	}
	if err := s.Store.Sweep(); err != nil {
		return failed(err)
	}
	return o.done(r)
}
