package config

import (
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/configview"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// ShowOptions are the options of `picoclaw config show`.
type ShowOptions struct {
	*cli.Factory
	agent   string
	output  cli.OutputFormat
	changed bool
	keys    []string
}

func NewCmdShow(f *cli.Factory, runF func(*ShowOptions) error) *cobra.Command {
	o := &ShowOptions{Factory: f}
	cmd := &cobra.Command{
		Use:               "show [KEY ...]",
		Short:             "Show the effective settings and where each comes from",
		ValidArgsFunction: completeKeys,
		Args: func(_ *cobra.Command, args []string) error {
			o.keys = args
			return nil
		},
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent whose settings to show (default: all agents)")
	f.AddOutputFlag(cmd, &o.output)
	cmd.Flags().BoolVar(&o.changed, "changed", false, "show only keys that are set")
	return cli.SetRun(cmd, o, (*ShowOptions).runShow, runF)
}

func (o *ShowOptions) runShow() error {
	cfg, err := o.LoadConfig(o.agent)
	if err != nil {
		return err
	}
	settings := cfg.Settings()
	if o.agent != "" {
		agent, resolveErr := cfg.ResolveAgent(o.agent)
		if resolveErr != nil {
			return cli.StartError(resolveErr)
		}
		settings = agent.Settings()
	}
	if settings, err = o.selectSettings(settings); err != nil {
		return err
	}
	for i, s := range settings {
		settings[i].Value = redact.RedactValue(s.Key, s.Value)
	}
	if o.output == cli.JSON {
		return o.PrintJSON(configview.NewConfig(cfg, settings))
	}
	return o.printTable(cfg, settings)
}

// selectSettings returns the requested settings.
func (o *ShowOptions) selectSettings(settings []config.Setting) ([]config.Setting, error) {
	names := make([]string, 0, len(settings))
	for _, s := range settings {
		names = append(names, s.Key)
	}
	for _, key := range o.keys {
		if !slices.ContainsFunc(names, func(name string) bool { return isWithinKey(name, key) }) {
			return nil, cli.UsageErrorf("no key has the name %s; the nearest key is %s", key,
				suggest.Nearest(key, withParentSections(names)))
		}
	}
	return slices.DeleteFunc(settings, func(s config.Setting) bool {
		asked := len(o.keys) == 0 || slices.ContainsFunc(o.keys, func(key string) bool { return isWithinKey(s.Key, key) })
		return !asked || o.changed && s.Origin.Source == config.DefaultSource
	}), nil
}

// isWithinKey reports whether a key is the named key or below it.
func isWithinKey(key, named string) bool {
	rest, ok := strings.CutPrefix(key, named)
	return ok && (rest == "" || strings.HasSuffix(named, ".") || rest[0] == '.' || rest[0] == '[')
}

func (o *ShowOptions) printTable(cfg *config.Config, settings []config.Setting) error {
	out := terminal.NewWriter(o.Out)
	fmt.Fprintf(out, "home: %s (%s)\nfile: %s\n\n", cfg.Home().Path, cfg.Home().Origin, formatFilePath(cfg.FilePath()))
	table := terminal.NewTable("KEY", "VALUE", "ORIGIN")
	for _, s := range settings {
		text, err := jsonv2.Marshal(s.Value, jsonv2.Deterministic(true))
		if err != nil {
			return err
		}
		table.AddRow(s.Key, string(text), s.Origin.String())
		if s.Origin.Source == config.DefaultSource {
			table.StyleCell(2, terminal.Faint)
		} else {
			table.StyleCell(1, terminal.Name)
		}
	}
	return table.Write(out)
}

func formatFilePath(path string) string {
	if path == "" {
		return "none; `picoclaw init` creates it"
	}
	return path
}

// withParentSections returns names of keys together with the sections around them.
func withParentSections(names []string) []string {
	all := slices.Clone(names)
	for _, name := range names {
		for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
			all = append(all, name[:at])
		}
	}
	return all
}

// completeKeys proposes keys of the configuration.
func completeKeys(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var keys []cobra.Completion
	for _, row := range config.KnownKeys() {
		if !strings.ContainsAny(row.Name, "[<$") {
			keys = append(keys, cobra.CompletionWithDesc(row.Name, cli.FirstSentence(row.Doc)))
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}
