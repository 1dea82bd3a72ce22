package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/assembly"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
	"github.com/picoclaw/picoclaw/host/mcp"
)

func newWorker(a *app) *cobra.Command {
	o := fleetOptions{app: a}
	var name string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Serve this machine's agents to a fleet, until told to stop",
		Long: `Runs in the foreground and serves all agents of the configuration to the gateways of a fleet, which are machines that meet
at a NATS server. What a call may do is decided here, as for any other call: policy, guard, approvals, sandbox and record
are this machine's, and nothing that a gateway says changes them.

An agent is with one worker at a time. One that is with another worker is taken when that one has ended, or has been
silent for some seconds; its workspace is then the one that it has here.

SIGTERM and SIGINT end it: no call is taken any more, and those that run may go on for gateway.drain_seconds.`,
		Example: "  picoclaw worker --fleet build1.fleet\n" +
			"  picoclaw worker --fleet tls://nats.example.com:4222 --credentials worker.creds\n  picoclaw worker",
		Args: o.noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.take(args)
			return o.work(cmd.Context(), name)
		},
	}
	o.flags(cmd, "serve the fleet at this `address`, or that of an identity file (default: fleet.url)")
	cmd.Flags().StringVar(&name, "name", "", "the worker's `name` in the fleet (default: fleet.name, or the machine's)")
	return cmd
}

func (o *fleetOptions) work(ctx context.Context, name string) error {
	cfg, err := o.app.config("")
	if err != nil {
		return err
	}
	home := cfg.Home()
	if home.Fallback {
		return cantStart(errors.New("a worker needs an instance root; set PICOCLAW_HOME to a directory"))
	}
	if name == "" {
		name = workerName(cfg)
	}
	logger, err := o.app.logger(cfg)
	if err != nil {
		return err
	}
	f, err := o.join(ctx, cfg, name)
	if err != nil {
		return err
	}
	defer f.Close()
	agents, with, err := o.role(cfg, f)
	if err != nil {
		return err
	}
	all, err := o.app.assemble(cfg, with)
	if err != nil {
		return err
	}
	defer func() {
		soon, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := all.Close(soon); err != nil {
			fmt.Fprintln(o.app.stderr, "picoclaw: stopping:", err)
		}
	}()
	if err := all.Ready(); err != nil {
		return cantStart(err)
	}
	// Here as on one machine, picoclaw call has fewer tools than clients of the gateway: none of the program's own.
	forCLI, err := o.app.open("")
	if err != nil {
		return err
	}
	defer o.app.close(forCLI)
	w, err := fleet.NewWorker(f.Fleet, fleet.WorkerOptions{Name: f.name, Agents: agents, Home: home.Path,
		Host:     hosts{host.MCP: all.Host, host.CLI: forCLI},
		Describe: func(s *host.Session) string { return mcp.Instructions(s.Policy()) },
		Changes:  all.Changes(ctx.Done()), Version: version, Logger: logger.Named("worker"),
		Drain: time.Duration(cfg.Gateway().DrainSeconds) * time.Second})
	if err != nil {
		return cantStart(err)
	}
	err = w.Run(ctx, func(agent string) {
		fmt.Fprintf(o.app.stderr, "the worker %s serves agent %s\n", f.name, agent)
	})
	if err != nil {
		return cantStart(err)
	}
	return nil
}

// role says which agents the worker may serve, and who is told of its record.
func (o *fleetOptions) role(cfg *config.Config, f *member) (agents []string, with assembly.Options, err error) {
	agents = cfg.AgentIDs()
	if f.id == nil {
		return agents, with, nil
	}
	if f.id.Role != identity.Worker {
		return nil, with, cantStart(fmt.Errorf("%s is a %s in the fleet, and a worker's identity is needed: "+
			"`picoclaw hub add worker NAME --agent ID`", f.id.Name, f.id.Role))
	}
	agents = slices.DeleteFunc(agents, func(id string) bool { return !slices.Contains(f.id.Agents, id) })
	if len(agents) == 0 {
		return nil, with, cantStart(fmt.Errorf("the identity of %s is for %s, and the configuration has %s: no agent is served",
			f.id.Name, strings.Join(f.id.Agents, ", "), strings.Join(cfg.AgentIDs(), ", ")))
	}
	with.Witness, err = witness.Teller(f.connection, f.tenant, f.name)
	return agents, with, err
}

// hosts are those that make the calls of each origin.
type hosts map[host.Origin]*host.Host

// Session opens a session.
func (h hosts) Session(agent string, origin host.Origin) (*host.Session, error) {
	of := h[origin]
	if of == nil {
		return nil, fmt.Errorf("a call of origin %q can't come from another machine", origin)
	}
	return of.Session(agent, origin)
}

// workerName is the name that the configuration gives a worker, or one made of the machine's.
func workerName(cfg *config.Config) string {
	if name := cfg.Fleet().Name; name != "" {
		return name
	}
	machine, err := os.Hostname()
	if err != nil {
		return "worker"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(machine))
}
