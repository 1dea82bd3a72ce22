// Package config has the command config.
package config

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/config"
)

func NewCmdConfig(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check the configuration",
		Long: `The configuration is $PICOCLAW_HOME/config.json (JSON with comments) or
config.yaml.

It overrides the built-in defaults; PICOCLAW_* variables override it.
PICOCLAW_HOME is ~/.picoclaw by default; --config and PICOCLAW_CONFIG name
another file.`,
		Example: strings.Trim(`
  picoclaw config show                  every setting and where it comes from
  picoclaw config check                 everything that is wrong, with its line
  picoclaw config schema > schema.json  for an editor's completion`, "\n"),
	}
	return cli.NewGroupCommand(cmd, NewCmdShow(f, nil), NewCmdCheck(f, nil), NewCmdSchema(f, nil))
}

// SchemaOptions are the options of `picoclaw config schema`.
type SchemaOptions struct{ *cli.Factory }

func NewCmdSchema(f *cli.Factory, runF func(*SchemaOptions) error) *cobra.Command {
	o := &SchemaOptions{Factory: f}
	return cli.OverrideRunFunc(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Long: `Print the JSON Schema of the configuration file. An editor that finds it in a "$schema" key at the top of the file
completes and checks keys.`,
		Example: strings.Trim(`
  picoclaw config schema > ~/.picoclaw/config.schema.json
  # then in config.json:  "$schema": "./config.schema.json"`, "\n"),
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return o.printSchema() },
	}, o, runF)
}

func (o *SchemaOptions) printSchema() error {
	text, err := json.MarshalIndent(config.JSONSchema(), "", "  ")
	if err != nil {
		return err
	}
	_, err = o.Out.Write(append(text, '\n'))
	return err
}
