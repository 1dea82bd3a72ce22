package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/supervise"
)

// RemoveOptions are the options of `picoclaw plugin remove`.
type RemoveOptions struct{ install.Options }

func NewCmdRemove(f *cli.Factory, runF func(*RemoveOptions) error) *cobra.Command {
	o := &RemoveOptions{Options: install.Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "remove ID",
		Short:             "Remove an installed plugin",
		Long:              "Takes a plugin out of the store, with all its versions. What it has kept for its agents, below <home>/state, stays.",
		Example:           "  picoclaw plugin remove wordcount",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(f),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	o.AddTo(cmd)
	return cli.NewCommand(cmd, o, runF)
}

func (o *RemoveOptions) run(args []string) error {
	s, err := install.OpenShelf(o.Factory)
	if err != nil {
		return err
	}
	pin, err := s.FindPin(args[0])
	if err != nil {
		return err
	}
	yes, err := o.Confirm(fmt.Sprintf("Remove plugin %s %s?", args[0], pin.Version))
	if err != nil || !yes {
		return cli.Fail(errors.Join(fmt.Errorf("plugin %s was not removed", args[0]), err))
	}
	if err := s.Store.Remove(args[0]); err != nil {
		return cli.Fail(err)
	}
	return o.PrintDone(o.Output, install.Result{ID: args[0], Previous: pin.Version}, "plugin "+args[0]+" is removed")
}

// verified is what was found of one plugin, as scripts read it.
type verified struct {
	ID       string   `json:"id"`
	Version  string   `json:"version"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
}

// VerifyOptions are the options of `picoclaw plugin verify`.
type VerifyOptions struct {
	*cli.Factory

	output cli.Format
}

func NewCmdVerify(f *cli.Factory, runF func(*VerifyOptions) error) *cobra.Command {
	o := &VerifyOptions{Factory: f}

	cmd := &cobra.Command{
		Use:               "verify [ID]",
		Short:             "Compare every file of the installed plugins with what was installed",
		Example:           "  picoclaw plugin verify",
		ValidArgsFunction: completePlugins(f),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f.AddOutputFlag(cmd, &o.output)
	return cli.NewCommand(cmd, o, runF)
}

func (o *VerifyOptions) run(cmd *cobra.Command, args []string) error {
	s, err := install.OpenShelf(o.Factory)
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(s.Lock.Plugins))
	if len(args) > 0 {
		if err := onePlugin(cmd, args); err != nil {
			return err
		}
		if _, err := s.FindPin(args[0]); err != nil {
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
	if err := showVerified(o.Factory, all, o.output); err != nil {
		return err
	}
	if !good {
		return cli.Fail(cli.ErrReported)
	}
	return nil
}

func showVerified(f *cli.Factory, all []verified, output cli.Format) error {
	if output == cli.JSON {
		return f.PrintJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(f.Out, "no plugin is installed")
	}
	for _, v := range all {
		if v.OK {
			fmt.Fprintf(f.Out, "plugin %s %s is as it was installed\n", v.ID, v.Version)
		}
		for _, problem := range v.Problems {
			fmt.Fprintln(f.Err, "picoclaw:", problem)
		}
	}
	return nil
}

// ResetOptions are the options of `picoclaw plugin reset`.
type ResetOptions struct {
	*cli.Factory

	output cli.Format
}

func NewCmdReset(f *cli.Factory, runF func(*ResetOptions) error) *cobra.Command {
	o := &ResetOptions{Factory: f}

	cmd := &cobra.Command{
		Use:   "reset ID",
		Short: "Let a plugin be started again that has crashed too often",
		Long: `A plugin that has crashed three times within five minutes is not started any more for the agent that it crashed under, so that
nobody waits for it and nothing is restarted for ever. This forgets its crashes.`,
		Example:           "  picoclaw plugin reset wordcount",
		Args:              onePlugin,
		ValidArgsFunction: completePlugins(f),
		RunE:              func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	f.AddOutputFlag(cmd, &o.output)
	return cli.NewCommand(cmd, o, runF)
}

func (o *ResetOptions) run(args []string) error {
	s, err := install.OpenShelf(o.Factory)
	if err != nil {
		return err
	}
	if !slices.Contains(s.IDs(), args[0]) {
		_, err := s.FindPin(args[0])
		return err
	}
	had, err := supervise.Reset(session.CrashDir(s.Config.Home().Path), args[0])
	if err != nil {
		return cli.Fail(err)
	}
	text := "plugin " + args[0] + " had not crashed"
	if had {
		text = "the crashes of plugin " + args[0] + " are forgotten"
	}
	return o.PrintDone(o.output, map[string]any{"id": args[0], "crashed": had}, text)
}
