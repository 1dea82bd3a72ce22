package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/supervise"
)

// pluginRemoveOptions are the options of `picoclaw plugin remove`.
type pluginRemoveOptions struct{ pluginInstall }

func newPluginRemove(a *app, runF func(*pluginRemoveOptions) error) *cobra.Command {
	o := &pluginRemoveOptions{pluginInstall: pluginInstall{app: a}}
	cmd := &cobra.Command{
		Use:               "remove ID",
		Short:             "Remove an installed plugin",
		Long:              "Takes a plugin out of the store, with all its versions. What it has kept for its agents, below <home>/state, stays.",
		Example:           "  picoclaw plugin remove wordcount",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(a),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	o.flags(cmd)
	return newCommand(cmd, o, runF)
}

func (o *pluginRemoveOptions) run(args []string) error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	pin, err := s.installed(args[0])
	if err != nil {
		return err
	}
	yes, err := o.confirm(fmt.Sprintf("Remove plugin %s %s?", args[0], pin.Version))
	if err != nil || !yes {
		return failed(errors.Join(fmt.Errorf("plugin %s was not removed", args[0]), err))
	}
	if err := s.Store.Remove(args[0]); err != nil {
		return failed(err)
	}
	return o.said(o.output, installedPlugin{ID: args[0], Previous: pin.Version}, "plugin "+args[0]+" is removed")
}

// verified is what was found of one plugin, as scripts read it.
type verified struct {
	ID       string   `json:"id"`
	Version  string   `json:"version"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
}

// pluginVerifyOptions are the options of `picoclaw plugin verify`.
type pluginVerifyOptions struct {
	*app

	output outputFormat
}

func newPluginVerify(a *app, runF func(*pluginVerifyOptions) error) *cobra.Command {
	o := &pluginVerifyOptions{app: a}

	cmd := &cobra.Command{
		Use:               "verify [ID]",
		Short:             "Compare every file of the installed plugins with what was installed",
		Example:           "  picoclaw plugin verify",
		ValidArgsFunction: completePlugins(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *pluginVerifyOptions) run(cmd *cobra.Command, args []string) error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(s.Lock.Plugins))
	if len(args) > 0 {
		if err := onePlugin(cmd, args); err != nil {
			return err
		}
		if _, err := s.installed(args[0]); err != nil {
			return err
		}
		ids = args
	}
	all := make([]verified, 0, len(ids))
	good := true
	for _, id := range ids {
		v := verified{ID: id, Version: s.Lock.Plugins[id].Version}
		for _, err := range s.Store.Verify(id, s.Lock.Plugins[id]) {
			v.Problems = append(v.Problems, err.Error())
		}
		v.OK = len(v.Problems) == 0
		good = good && v.OK
		all = append(all, v)
	}
	if err := o.showVerified(all, o.output); err != nil {
		return err
	}
	if !good {
		return failed(errSaid)
	}
	return nil
}

func (a *app) showVerified(all []verified, output outputFormat) error {
	if output == jsonOutput {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.stdout, "no plugin is installed")
	}
	for _, v := range all {
		if v.OK {
			fmt.Fprintf(a.stdout, "plugin %s %s is as it was installed\n", v.ID, v.Version)
		}
		for _, problem := range v.Problems {
			fmt.Fprintln(a.stderr, "picoclaw:", problem)
		}
	}
	return nil
}

// pluginResetOptions are the options of `picoclaw plugin reset`.
type pluginResetOptions struct {
	*app

	output outputFormat
}

func newPluginReset(a *app, runF func(*pluginResetOptions) error) *cobra.Command {
	o := &pluginResetOptions{app: a}

	cmd := &cobra.Command{
		Use:   "reset ID",
		Short: "Let a plugin be started again that has crashed too often",
		Long: `A plugin that has crashed three times within five minutes is not started any more for the agent that it crashed under, so that
nobody waits for it and nothing is restarted for ever. This forgets its crashes.`,
		Example:           "  picoclaw plugin reset wordcount",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(a),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *pluginResetOptions) run(args []string) error {
	s, err := o.shelf()
	if err != nil {
		return err
	}
	if !slices.Contains(s.IDs(), args[0]) {
		_, err := s.installed(args[0])
		return err
	}
	had, err := supervise.Reset(session.CrashDir(s.Config.Home().Path), args[0])
	if err != nil {
		return failed(err)
	}
	text := "plugin " + args[0] + " had not crashed"
	if had {
		text = "the crashes of plugin " + args[0] + " are forgotten"
	}
	return o.said(o.output, map[string]any{"id": args[0], "crashed": had}, text)
}
