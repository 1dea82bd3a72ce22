// Package stop has the commands stop and start.
package stop

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/killswitch"
)

// Options are the options of `picoclaw stop`.
type Options struct {
	*cli.Factory
	agent, reason string
}

func NewCmdStop(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "stop",
		SuggestFor: []string{"kill", "halt"},
		Short:      "Stop agents",
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent to stop (default: all)")
	cmd.Flags().StringVar(&o.reason, "why", "", "`reason` shown to refused callers")
	return cli.SetRunContext(cmd, o, (*Options).stopAgents, runF)
}

func (o *Options) stopAgents(ctx context.Context) error {
	home, err := o.FindUsedHome()
	if err != nil {
		return err
	}
	if err = checkAgentExists(o.Factory, o.agent); err != nil {
		return err
	}
	stop := killswitch.Stop{Agent: o.agent, Time: time.Now().UTC(), Why: strings.ToValidUTF8(o.reason, "\uFFFD")}
	if u, userErr := user.Current(); userErr == nil {
		stop.By = u.Username
	}
	if err = killswitch.StopAgent(home, stop); err != nil {
		if asked := gateway.NewClient(home).StopAgent(ctx, stop); asked != nil {
			return cli.FailedError(fmt.Errorf("stop: %w; over the gateway's socket: %w; kill picoclaw's processes",
				err, asked))
		}
		return cli.FailedError(fmt.Errorf("only the gateway is stopped, until it ends: %w; kill other picoclaw processes. `%s` "+
			"resumes the gateway", err, stop.CommandToResume()))
	}
	now := killswitch.ReadStopOfAgent(home, o.agent)
	if now == nil {
		return cli.FailedError(errors.New("stop: another command has resumed the agents; stop them again"))
	}
	unconfirmed, err := killswitch.AwaitHosts(home, now)
	if err != nil {
		return cli.FailedError(fmt.Errorf("new calls are refused, but picoclaw's processes are unknown: %w; end them", err))
	}
	if len(unconfirmed) > 0 {
		pids := strings.Join(unconfirmed, " ")
		return cli.FailedError(fmt.Errorf("new calls are refused, but commands of picoclaw process %s may still run: it hangs or is "+
			"paused; end it with `kill -KILL %s`, or resume it with `kill -CONT %s`, and stop again", pids, pids, pids))
	}
	fmt.Fprintf(o.Out, "%s. `%s` resumes them.\n", capitalize(now.String()), stop.CommandToResume())
	return nil
}

func NewCmdStart(f *cli.Factory, runF func(*cli.CommonOptions) error) *cobra.Command {
	cmd := &cobra.Command{Use: "start", Short: "Resume stopped agents"}
	return cli.NewCommonContextCommand(f, cmd, resumeAgents, runF,
		cli.WithAgent("the agent to start (default: all that were stopped together)"))
}

func resumeAgents(o *cli.CommonOptions, ctx context.Context) error {
	home, err := o.FindUsedHome()
	if err != nil {
		return err
	}
	killswitch.ReadStopOfAgent(home, o.Agent).WaitUntilHostsRead()
	held, err := gateway.NewClient(home).ResumeAgent(ctx, o.Agent)
	if err != nil && !errors.Is(err, gateway.ErrNotRunning) {
		fmt.Fprintln(o.Err, "picoclaw:", err)
	}
	was, err := killswitch.ResumeAgent(home, o.Agent)
	if err != nil {
		return cli.FailedError(err)
	}
	subject, be := "The agents", "were"
	if o.Agent != "" {
		subject, be = "Agent "+o.Agent, "was"
	}
	if was || held {
		fmt.Fprintf(o.Out, "%s resumed.\n", subject)
	} else if err = checkAgentExists(o.Factory, o.Agent); err != nil {
		return err
	} else {
		fmt.Fprintf(o.Out, "%s %s not stopped.\n", subject, be)
	}
	for id, stop := range killswitch.ReadStops(home) {
		if o.Agent == "" && id != "" {
			fmt.Fprintf(o.Out, "%s; `%s` resumes it.\n", capitalize(stop.String()), stop.CommandToResume())
		}
	}
	return nil
}

// checkAgentExists returns a usage error for an unknown agent. Without a valid configuration it returns nil.
func checkAgentExists(f *cli.Factory, agent string) error {
	cfg, err := f.LoadConfig("")
	if agent == "" || err != nil {
		return nil
	}
	if _, err := cfg.ResolveAgent(agent); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	return nil
}

// capitalize returns text with its first letter in upper case.
func capitalize(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
