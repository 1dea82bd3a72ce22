// Package config has the command config.
package config

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/config"
)

func NewCmdConfig(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check the configuration",
	}
	return cli.NewGroupCommand(cmd, NewCmdShow(f, nil), NewCmdCheck(f, nil), NewCmdSchema(f, nil))
}

func NewCmdSchema(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "schema", Short: "Print the JSON Schema of the configuration file, for editors"}
	return cli.NewCommonCommand(f, cmd, printSchema, runF)
}

func printSchema(o *cli.CommonOptions) error {
	text, err := json.MarshalIndent(config.JSONSchema(), "", "  ")
	if err != nil {
		return err
	}
	_, err = o.Out.Write(append(text, '\n'))
	return err
}
