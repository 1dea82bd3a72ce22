package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// fleetFlags are --fleet and --credentials: the fleet that a command is about.
type fleetFlags struct {
	*app
	address, credentials string
	name                 string // of a worker, where --name says it
}

// flags adds --fleet and --credentials.
func (o *fleetFlags) flags(cmd *cobra.Command, doc string) {
	cmd.Flags().StringVar(&o.address, "fleet", "", doc)
	cmd.Flags().StringVar(&o.credentials, "credentials", "",
		"NATS's `file` with which this machine shows who it is, for a fleet that is no hub's (default: fleet.credentials)")
}

// joinTimeout is how long it may take to be let into a fleet.
const joinTimeout = 10 * time.Second

// member is a fleet, and who this machine is there.
type member struct {
	*fleet.Fleet
	connection *nats.Conn
	id         *identity.Identity // nil in a fleet that is no hub's
	name       string
	tenant     string
}

// join joins the fleet: as who an identity file says, or else under a name of this machine's.
func (o *fleetFlags) join(ctx context.Context, cfg *config.Config, name string) (*member, error) {
	set := cfg.Fleet()
	if o.address != "" {
		set.URL = o.address
	}
	if o.credentials != "" {
		set.Credentials = o.credentials
	}
	j := &member{name: cmp.Or(o.name, name), tenant: set.Tenant}
	file := set.URL
	if file == "" {
		file = set.Credentials
	}
	var err error
	if file == "" || strings.Contains(file, "://") {
		j.connection, err = identity.Dial(set.URL, name, set.Credentials)
	} else if err := o.noOther(file); err != nil {
		return nil, err
	} else {
		j.connection, j.id, err = identity.Connect(file)
	}
	if err != nil {
		return nil, cantStart(err)
	}
	if j.id != nil {
		j.name, j.tenant = j.id.Name, j.id.Tenant
	}
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	if j.Fleet, err = fleet.Join(ctx, j.connection, j.tenant); err != nil {
		j.connection.Close()
		return nil, cantStart(err)
	}
	return j, nil
}

// noOther refuses flags beside an identity file that say who this machine is.
func (o *fleetFlags) noOther(file string) error {
	var given []string
	if o.name != "" {
		given = append(given, "--name")
	}
	if o.credentials != "" && o.credentials != file {
		given = append(given, "--credentials")
	}
	if len(given) == 0 {
		return nil
	}
	return usage("%s can't stand beside the identity file %s, which says who this machine is; leave it out, or "+
		"have another identity made with `picoclaw hub add`", strings.Join(given, " and "), file)
}

// needs refuses an identity that has none of the roles, of which the first is named as the one to have.
func (j *member) needs(roles ...string) error {
	if j.id == nil || slices.Contains(roles, j.id.Role) {
		return nil
	}
	agents := ""
	if roles[0] == identity.Worker {
		agents = " --agent ID"
	}
	return fmt.Errorf("%s is %s in the fleet, and %s's identity is needed: `picoclaw hub add %s NAME%s`",
		j.id.Name, article(j.id.Role), article(roles[0]), roles[0], agents)
}

// article puts the article before a role.
func article(role string) string {
	if role == identity.Admin {
		return "an " + role
	}
	return "a " + role
}

// shut says why NATS has closed the connection for good, which is never made again, and what to do.
func (m *member) shut() error {
	err := m.connection.LastError()
	if m.id != nil {
		return m.id.Explain(err)
	}
	return fmt.Errorf("NATS does not let %s in any more: %w; its credentials were revoked, or are another server's; have new "+
		"ones made", m.name, err)
}

// fleetOptions are the options of a command about a fleet.
type fleetOptions struct{ fleetFlags }

func newFleet(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "fleet", Short: "Look after a fleet, and see which machines have which agents",
		Example: "  picoclaw fleet status --help\n  picoclaw fleet config --help"}
	return group(cmd, newFleetStatus(a, nil), newFleetWhere(a, nil), newFleetDrain(a, nil), newFleetMove(a, nil), newFleetConfig(a))
}

// fleetStatusOptions are the options of `picoclaw fleet status`.
type fleetStatusOptions struct {
	fleetOptions

	output outputFormat
}

func newFleetStatus(a *app, runF func(*fleetStatusOptions) error) *cobra.Command {
	o := &fleetStatusOptions{fleetOptions: fleetOptions{fleetFlags{app: a}}}

	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the workers of a fleet, and which agents they have",
		Long:    "Shows the workers that have given a sign of life not long ago, and for each agent the worker that has it. The epoch\ngrows each time that an agent is taken. CONFIG is the number of the fleet's configuration that a worker has. The\nexit code is 1 where an agent's worker is gone.",
		Example: "  picoclaw fleet status --fleet tls://nats.example.com:4222\n  picoclaw fleet status --output json",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.status(cmd.Context(), o.output) },
	}
	o.flags(cmd, "the fleet at this `address`, or that of an identity file (default: fleet.url)")
	a.outputFlag(cmd, &o.output)
	return newCommand(cmd, o, runF)
}

func (o *fleetOptions) status(ctx context.Context, output outputFormat) error {
	workers, agents, err := o.look(ctx)
	if err != nil {
		return err
	}
	if output == jsonOutput {
		err = o.app.printJSON(map[string]any{"workers": workers, "agents": agents})
	} else {
		err = o.app.showFleet(workers, agents)
	}
	for _, p := range agents {
		if err == nil && !p.Alive {
			err = &failure{code: exitFailed, err: errSaid}
		}
	}
	return err
}

// look looks at the whole fleet.
func (o *fleetOptions) look(ctx context.Context) ([]fleet.Sign, []fleet.Placed, error) {
	cfg, err := o.app.config("")
	if err != nil {
		return nil, nil, err
	}
	f, err := o.join(ctx, cfg, "status")
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	workers, agents, err := f.Status(ctx)
	if err != nil {
		return nil, nil, failed(err)
	}
	return workers, agents, nil
}

func (a *app) showFleet(workers []fleet.Sign, agents []fleet.Placed) error {
	out := terminal.New(a.stdout)
	table := terminal.NewTable("WORKER", "VERSION", "AGENTS", "RUNNING", "CONFIG", "STATE")
	for _, w := range workers {
		state, style := "serves", terminal.Plain
		switch {
		case w.Fault != "":
			state, style = w.Fault, terminal.Bad
		case w.Drained:
			state = "drained"
		}
		config := "own"
		if w.Config > 0 {
			config = strconv.FormatUint(w.Config, 10)
		}
		table.Row(w.Worker, w.Version, strconv.Itoa(w.Agents), strconv.Itoa(w.Running), config, terminal.Line(state))
		table.Style(0, terminal.Name)
		table.Style(5, style)
	}
	if err := table.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	table = terminal.NewTable("AGENT", "WORKER", "EPOCH", "STATE")
	for _, p := range agents {
		state, style := "served", terminal.Plain
		switch {
		case p.Fault != "":
			state, style = terminal.Line(p.Fault), terminal.Bad
		case p.From != "":
			state = "on its way from " + p.From
		case !p.Alive:
			state, style = "its worker is gone", terminal.Bad
		}
		table.Row(p.Agent, p.Worker, strconv.FormatUint(p.Epoch, 10), state)
		table.Style(0, terminal.Name)
		table.Style(3, style)
	}
	return table.Write(out)
}

// fleetWhereOptions are the options of `picoclaw fleet where`.
type fleetWhereOptions struct{ fleetOptions }

func newFleetWhere(a *app, runF func(*fleetWhereOptions) error) *cobra.Command {
	o := &fleetWhereOptions{fleetOptions: fleetOptions{fleetFlags{app: a}}}
	cmd := &cobra.Command{
		Use:     "where AGENT",
		Short:   "Show which worker has an agent",
		Example: "  picoclaw fleet where main",
		Args:    named(1, "the name of one agent"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.flags(cmd, "the fleet at this `address`, or that of an identity file (default: fleet.url)")
	return newCommand(cmd, o, runF)
}

func (o *fleetWhereOptions) run(ctx context.Context, args []string) error {
	agent := args[0]
	_, agents, err := o.look(ctx)
	if err != nil {
		return err
	}
	for _, p := range agents {
		if p.Agent == agent {
			fmt.Fprintln(o.stdout, terminal.Line(p.Worker))
			return nil
		}
	}
	return failed(fmt.Errorf("no worker of the fleet has agent %q; `picoclaw fleet status` lists them", agent))
}
