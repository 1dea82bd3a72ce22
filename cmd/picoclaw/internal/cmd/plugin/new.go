package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/install"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/scaffold"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// NewOptions are the options of `picoclaw plugin new`.
type NewOptions struct {
	*cli.Factory
	id     string
	dir    string
	module string
	sdk    string
	output cli.OutputFormat
}

func NewCmdNew(f *cli.Factory, runF func(*NewOptions) error) *cobra.Command {
	o := &NewOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Begin a plugin: a Go module that builds and passes its own tests",
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return cli.UsageErrorf("name the plugin, such as in: picoclaw plugin new wordcount")
			case 1:
				o.id = args[0]
				return nil
			}
			return cli.UsageErrorf("a plugin has only one name; remove %q", args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", "", "`directory` to create (default: NAME)")
	flags.StringVar(&o.module, "module", "", "`path` of the Go module (default: example.com/NAME)")
	flags.StringVar(&o.sdk, "sdk", "", "`directory` of picoclaw's sources")
	f.AddOutputFlag(cmd, &o.output)
	return cli.SetRun(cmd, o, (*NewOptions).createPlugin, runF)
}

// newPluginResult is the JSON output of `picoclaw plugin new`.
type newPluginResult struct {
	ID    string   `json:"id"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
}

func (o *NewOptions) createPlugin() error {
	dir := cmp.Or(o.dir, o.id)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return cli.FailedError(err)
	}
	p := scaffold.PluginSpec{ID: o.id, Dir: dir, Module: o.module, Picoclaw: "picoclaw"}
	if err = p.Validate(); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if s, openErr := install.OpenPluginInventory(o.Factory); openErr == nil && s.IsBundled(o.id) {
		return cli.UsageErrorf("picoclaw has a built-in plugin %s; choose another name", o.id)
	}
	if p.SDK, err = o.chooseSDK(); err != nil {
		return cli.FailedError(err)
	}
	if p.SDK.Source != "" {
		if self, exeErr := os.Executable(); exeErr == nil {
			p.Picoclaw = self // the one that belongs to these sources
		}
	}
	files, err := p.Create()
	if err != nil {
		return cli.FailedError(fmt.Errorf("write the plugin: %w", err))
	}
	return o.printCreated(newPluginResult{ID: o.id, Dir: dir, Files: files})
}

// chooseSDK returns the SDK in --sdk, the release of this picoclaw, or the sources it was built from.
func (o *NewOptions) chooseSDK() (scaffold.SDKSource, error) {
	if o.sdk != "" {
		dir, err := filepath.Abs(o.sdk)
		if err == nil {
			err = scaffold.CheckSourceDir(dir)
		}
		return scaffold.SDKSource{Source: dir}, err
	}
	if scaffold.IsReleaseVersion(o.Version) {
		return scaffold.SDKSource{Version: o.Version}, nil
	}
	if o.Source == "" {
		return scaffold.SDKSource{}, errors.New("this picoclaw is no release and does not know the sources that it was built from; " +
			"name their directory with --sdk, or build picoclaw with `make build`")
	}
	if err := scaffold.CheckSourceDir(o.Source); err != nil {
		return scaffold.SDKSource{}, fmt.Errorf("this picoclaw is no release, and plugins are built with the sources that it was built from: %w; "+
			"name another directory with --sdk", err)
	}
	return scaffold.SDKSource{Source: o.Source}, nil
}

func (o *NewOptions) printCreated(result newPluginResult) error {
	if o.output == cli.JSON {
		return o.PrintJSON(result)
	}
	shown := result.Dir
	if cwd, err := os.Getwd(); err == nil {
		if name, ok := paths.RelativeWithin(cwd, result.Dir); ok {
			shown = name
		}
	}
	_, err := fmt.Fprintf(o.Out, `%s has the plugin %s: %s

Next steps:
  cd %s
  make test                             its tests, in their own process and in the sandbox
  make build                            the plugin, in bin/%s
  picoclaw plugin install bin/%s
`, shown, result.ID, strings.Join(result.Files, ", "), shown, result.ID, result.ID)
	return err
}
