package main

import (
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host/halt"
)

// stopOptions are the options of `picoclaw stop`.
type stopOptions struct {
	*app

	agent, why string
}

func newStop(a *app, runF func(*stopOptions) error) *cobra.Command {
	o := &stopOptions{app: a}

	cmd := &cobra.Command{
		Use:        "stop",
		SuggestFor: []string{"kill", "halt"},
		Short:      "End everything that agents are doing, and keep them from beginning again",
		Long: `Ends calls, commands, turns, subagents and jobs within a second, in every picoclaw on this instance root: the gateway,
MCP servers that clients have started, and picoclaw agent. New ones are refused until picoclaw start. It works whatever the
configuration is like.`,
		Example: "  picoclaw stop\n  picoclaw stop --agent reader --why 'it loops'",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.agentFlag(cmd, &o.agent, "the agent to stop (default: all)")
	cmd.Flags().StringVar(&o.why, "why", "", "what whoever is refused is told")
	return newCommand(cmd, o, runF)
}

func (o *stopOptions) run() error {
	home, err := o.home()
	if err != nil {
		return err
	}
	if err := o.known(o.agent); err != nil {
		return err
	}
	stop := halt.Stop{Agent: o.agent, Time: time.Now().UTC(), Why: strings.ToValidUTF8(o.why, "\uFFFD")}
	if u, err := user.Current(); err == nil {
		stop.By = u.Username
	}
	if err := halt.Put(home, stop); err != nil {
		return failed(fmt.Errorf("stop: %w", err))
	}
	fmt.Fprintf(o.stdout, "%s. `%s` lets them go on.\n", sentence(halt.Of(home, o.agent).String()), stop.Cure())
	return nil
}

// startOptions are the options of `picoclaw start`.
type startOptions struct {
	*app

	agent string
}

func newStart(a *app, runF func(*startOptions) error) *cobra.Command {
	o := &startOptions{app: a}

	cmd := &cobra.Command{
		Use:     "start",
		Short:   "Let agents that were stopped go on",
		Long:    "Takes back picoclaw stop. Nothing that was ended begins again by itself but the schedule.",
		Example: "  picoclaw start\n  picoclaw start --agent reader",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.agentFlag(cmd, &o.agent, "the agent to start (default: all that were stopped together)")
	return newCommand(cmd, o, runF)
}

func (o *startOptions) run() error {
	home, err := o.home()
	if err != nil {
		return err
	}
	halt.Of(home, o.agent).WaitUntilSeen()
	was, err := halt.Take(home, o.agent)
	if err != nil {
		return failed(err)
	}
	who := "The agents"
	if o.agent != "" {
		who = "Agent " + o.agent
	}
	if !was {
		fmt.Fprintf(o.stdout, "%s had not been stopped.\n", who)
	} else {
		fmt.Fprintf(o.stdout, "%s may go on.\n", who)
	}
	stopped, err := halt.Read(home)
	if err != nil {
		return failed(err)
	}
	for id := range stopped {
		if o.agent == "" && stopped[id].Agent != "" {
			fmt.Fprintf(o.stdout, "%s; `%s` lets it go on.\n", sentence(stopped[id].String()), stopped[id].Cure())
		}
	}
	return nil
}

// known checks that there is such an agent, as far as the configuration can be read.
func (a *app) known(agent string) error {
	cfg, err := a.config("")
	if agent == "" || err != nil {
		return nil
	}
	if _, err := cfg.Agent(agent); err != nil {
		return usage("%w", err)
	}
	return nil
}

// sentence begins a text with a capital.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
