package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/session"
)

// printPlan prints what the program could see, reach and change, without running it.
func (o *Options) printPlan(s *session.Session, p *run.RunPlan) error {
	say := func(title, format string, args ...any) {
		fmt.Fprintf(o.Out, "%-9s %s\n", title, fmt.Sprintf(format, args...))
	}
	policy := s.Policy()
	if p.Missing != nil {
		say("program", "%s, which is not installed", o.program[0])
	} else {
		say("program", "%s", p.Program)
	}
	if len(p.Args) > 0 {
		say("arguments", "%s", strings.Join(p.Args, " "))
	}
	say("agent", "%s", policy.AgentID())
	if o.Project != nil {
		say("limits", "%s", o.Project.Path)
	}
	say("changes", "%s, but for protected files (docs/protected.md)", policy.WorkspacePath())
	if p.SharedGit != nil {
		say("", "%s, but for other work trees' files; undo does not cover it", p.SharedGit.Dir)
	}
	say("home", "%s, separate for this project", p.Home)
	say("reads", "the system's programs")
	for _, path := range p.ReadOnly {
		say("", "%s", path)
	}
	switch own := policy.NetworkRules(); {
	case !policy.IsolationOptions().Network:
		say("network", "none (isolation.network)")
	case own != nil && len(own.Allow)+len(own.From) > 0:
		say("network", "what network.allow and network.from name, and")
	default:
		say("network", "these hosts alone")
	}
	if policy.IsolationOptions().Network {
		for _, host := range p.Preset.Hosts {
			say("", "%s (%s)", host.Name, host.Purpose)
		}
		for _, host := range o.hosts {
			say("", "%s (--allow)", host)
		}
	}
	for _, port := range append(policy.PublishedPorts(), p.Ports...) {
		say("port", "127.0.0.1:%d of this machine leads to a server of the program", port)
	}
	for _, secret := range p.Secrets {
		say("key", "%s as a placeholder; picoclaw inserts the key for %s", secret.Name, strings.Join(secret.Hosts, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Preset.Env)) {
		say("sets", "%s=%s", name, p.Preset.Env[name])
	}
	if p.Preset.Sandbox != "" {
		say("note", "%s", p.Preset.Sandbox)
	}
	if policy.UndoLimits().Enabled {
		say("undo", "picoclaw undo restores changed files")
	} else {
		say("undo", "off (tools.undo.enabled)")
	}
	return nil
}

// NewCmdStatus returns the command that shows the gateway and the running programs of the home.
func NewCmdStatus(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show the gateway, running programs and stopped agents"}
	return cli.NewCommonContextCommand(f, cmd, showStatus, runF, cli.WithOutput)
}

func showStatus(o *cli.CommonOptions, ctx context.Context) error {
	home, err := o.FindHome()
	if err != nil {
		return err
	}
	stops, layer := killswitch.ReadStops(home), "on"
	running, err := run.ListRunning(home)
	if cfg, configErr := o.LoadConfig(""); configErr != nil {
		layer = configErr.Error()
	} else if !cfg.IsolationEnabled() {
		layer = "off (isolation.enabled), except for picoclaw run"
	}
	gatewayState := "running"
	if _, gatewayErr := gateway.NewClient(home).FetchStatus(ctx); errors.Is(gatewayErr, gateway.ErrNotRunning) {
		gatewayState = "not running"
	} else if gatewayErr != nil {
		gatewayState = gatewayErr.Error()
	}
	if o.Output == cli.JSON {
		all := map[string]any{"isolation": layer, "gateway": gatewayState, "stops": stops, "runs": running}
		return cmp.Or(o.PrintJSON(all), cli.FailedError(err))
	}
	lines := []string{"isolation: " + layer, "gateway: " + gatewayState}
	for _, stop := range stops {
		lines = append(lines, fmt.Sprintf("%s; `%s` resumes", stop, stop.CommandToResume()))
	}
	for _, r := range running {
		lines = append(lines, fmt.Sprintf("run %s: %s", r.ID, strings.Join(r.Program, " ")),
			fmt.Sprintf("  agent %s in %s since %s, process %d", r.Agent, r.Project, r.Started.Local().Format(time.DateTime), r.PID),
			fmt.Sprintf("  %s to files; reached: %s", terminal.Pluralize(r.Changes, "change"), strings.Join(r.Reached, ", ")))
		for _, reason := range r.Refused {
			lines = append(lines, "  "+reason)
		}
	}
	if len(running) == 0 && err == nil {
		lines = append(lines, "no program runs")
	}
	for _, line := range lines {
		fmt.Fprintln(o.Out, terminal.CleanLine(line))
	}
	return cli.FailedError(err)
}
