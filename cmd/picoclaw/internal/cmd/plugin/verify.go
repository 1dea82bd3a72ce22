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
type RemoveOptions struct {
	install.Options
	id string
}

func NewCmdRemove(f *cli.Factory, runF func(*RemoveOptions) error) *cobra.Command {
	o := &RemoveOptions{Options: install.Options{Factory: f}}
	cmd := &cobra.Command{
		Use:               "remove ID",
		Short:             "Remove an installed plugin",
		Args:              onePluginArgument(&o.id),
		ValidArgsFunction: completePlugins(f),
	}
	o.AddFlags(cmd)
	return cli.SetRun(cmd, o, (*RemoveOptions).removePlugin, runF)
}

func (o *RemoveOptions) removePlugin() error {
	s, err := install.OpenPluginInventory(o.Factory)
	if err != nil {
		return err
	}
	pin, err := s.FindLockEntry(o.id)
	if err != nil {
		return err
	}
	yes, err := o.Confirm(fmt.Sprintf("Remove plugin %s %s?", o.id, pin.Version))
	if err != nil || !yes {
		return cli.FailedError(errors.Join(fmt.Errorf("plugin %s was not removed", o.id), err))
	}
	if err := s.Store.RemovePlugin(o.id); err != nil {
		return cli.FailedError(err)
	}
	return o.PrintTextOrJSON(o.Output, install.InstallResult{ID: o.id, Previous: pin.Version}, "plugin "+o.id+" is removed")
}

// verifyResult is the JSON output of `picoclaw plugin verify` about one plugin.
type verifyResult struct {
	ID       string   `json:"id"`
	Version  string   `json:"version"`
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
}

func NewCmdVerify(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "verify [ID]", Short: "Verify the files of installed plugins", ValidArgsFunction: completePlugins(f)}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(verifyPlugins), runF, cli.WithArgument(optionalPluginArgument), cli.WithOutput)
}

func verifyPlugins(o *cli.CommonOptions, s *install.PluginInventory) error {
	ids := slices.Sorted(maps.Keys(s.Lock.Plugins))
	if o.Argument != "" {
		if _, err := s.FindLockEntry(o.Argument); err != nil {
			return err
		}
		ids = []string{o.Argument}
	}
	all := make([]verifyResult, 0, len(ids))
	good := true
	for _, id := range ids {
		v := verifyResult{ID: id, Version: s.Lock.Plugins[id].Version}
		for _, err := range s.Store.VerifyPlugin(id, s.Lock.Plugins[id]) {
			v.Problems = append(v.Problems, err.Error())
		}
		v.OK = len(v.Problems) == 0
		good = good && v.OK
		all = append(all, v)
	}
	return cli.ReportedFailure(!good, printVerification(o.Factory, all, o.Output))
}

func printVerification(f *cli.Factory, all []verifyResult, output cli.OutputFormat) error {
	if output == cli.JSON {
		return f.PrintJSON(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(f.Out, "no plugin is installed")
	}
	for _, v := range all {
		if v.OK {
			fmt.Fprintf(f.Out, "plugin %s %s is unchanged since its installation\n", v.ID, v.Version)
		}
		for _, problem := range v.Problems {
			fmt.Fprintln(f.Err, "picoclaw:", problem)
		}
	}
	return nil
}

func NewCmdReset(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "reset ID", Short: "Reset the crash count of a plugin", ValidArgsFunction: completePlugins(f)}
	return cli.NewCommonCommand(f, cmd, install.WithInventory(resetCrashes), runF, cli.WithArgument(onePluginArgument), cli.WithOutput)
}

func resetCrashes(o *cli.CommonOptions, s *install.PluginInventory) error {
	if !slices.Contains(s.PluginIDs(), o.Argument) {
		_, findErr := s.FindLockEntry(o.Argument)
		return findErr
	}
	crashed, err := supervise.ResetCrashes(session.CrashReportDir(s.Config.Home().Path), o.Argument)
	if err != nil {
		return cli.FailedError(err)
	}
	text := "plugin " + o.Argument + " had not crashed"
	if crashed {
		text = "the crash count of plugin " + o.Argument + " is reset"
	}
	return o.PrintTextOrJSON(o.Output, map[string]any{"id": o.Argument, "crashed": crashed}, text)
}
