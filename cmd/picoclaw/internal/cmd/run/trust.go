package run

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/run"
)

// TrustOptions are the options of `picoclaw trust`.
type TrustOptions struct {
	*cli.Factory
	project     string
	yes, remove bool
}

func NewCmdTrust(f *cli.Factory, runF func(*TrustOptions) error) *cobra.Command {
	o := &TrustOptions{Factory: f}
	cmd := &cobra.Command{Use: "trust", Short: "Accept the settings of a project for picoclaw run"}
	flags := cmd.Flags()
	flags.StringVar(&o.project, "project", "", "the `directory` of the project")
	flags.BoolVar(&o.yes, "yes", false, "accept without asking")
	flags.BoolVar(&o.remove, "remove", false, "remove the trust; runs ignore the settings then")
	return cli.SetRun(cmd, o, (*TrustOptions).trustProject, runF)
}

func (o *TrustOptions) trustProject() error {
	home, project, _, err := findProject(o.Factory, o.project)
	if err != nil {
		return err
	}
	c, err := run.ReadProjectConfig(home, project)
	switch {
	case err != nil:
		return cli.StartError(err)
	case o.remove:
		return cli.FailedError(c.SetTrust(home, ""))
	case c.Digest == "":
		return cli.FailedError(fmt.Errorf("the project has no %s; write it, or name another project with --project", c.Path))
	}
	o.Workspace, o.Isolated = project, true
	if o.Project, err = config.ParseProject(c.Path, c.Data); err != nil {
		return cli.StartError(err)
	}
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	if _, err = policy.PreviewPolicy(cfg, ""); err != nil {
		return cli.StartError(err)
	}
	fmt.Fprintf(o.Out, "%s narrows your configuration for picoclaw run:\n", o.Project.Path)
	for _, s := range o.Project.Settings {
		fmt.Fprintf(o.Out, "  %s, %s: %s\n", s.Key, o.Project.Effects[s.Key], terminal.EscapeLine(fmt.Sprintf("%q", s.Value)))
	}
	if !o.yes && c.Digest != c.Trusted {
		if o.yes, err = o.AskYesNo("Trust it?"); err != nil || !o.yes {
			return cli.ReportedFailure(true, cli.FailedError(err))
		}
	}
	return cli.FailedError(c.SetTrust(home, c.Digest))
}

// findProject returns the home, and the directory of a project, which it checks, with the current directory in it.
func findProject(f *cli.Factory, named string) (home, project, dir string, err error) {
	userHome, _ := os.UserHomeDir()
	if project, dir, err = run.FindProjectDir(named, ""); err != nil {
		return "", "", "", cli.FailedError(err)
	}
	if home, err = f.FindHome(); err == nil {
		err = cli.FailedError(run.CheckProjectDir(project, userHome, home))
	}
	return home, project, dir, err
}
