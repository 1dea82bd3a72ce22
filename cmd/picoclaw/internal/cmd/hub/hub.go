// Package hub has the command hub.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
)

// sharedOptions is what the verbs of hub share.
type sharedOptions struct {
	*cli.Factory
	tenant string
}

// Options are the options of `picoclaw hub`.
type Options struct {
	sharedOptions

	listen string
	names  []string
}

func NewCmdHub(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{sharedOptions: sharedOptions{Factory: f}}

	cmd := &cobra.Command{
		Use:        "hub",
		SuggestFor: []string{"nats", "broker"},
		Short:      "Connect the machines of a fleet, and say which there are",
		Long: `Runs a NATS server in the foreground, with TLS, for the workers and gateways of a fleet. What it needs is made when it
starts for the first time, in the directory hub of the instance root: keys, a certificate authority, and the tenant main.
Each machine gets a file of its own with picoclaw hub add, which says what it may do; that works while the hub runs, and
while it does not. Where it listens, and the names by which others reach it, are kept from one start to the next.

SIGTERM and SIGINT end it, and what it has stored is on disk.`,
		Example: "  picoclaw hub\n  picoclaw hub --listen 0.0.0.0:4222 --name hub.example.com",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.listen, "listen", "", "the `address` and port, 0.0.0.0:4222 for all (default: "+hub.DefaultListen+")")
	cmd.Flags().StringSliceVar(&o.names, "name", nil, "a host name or address by which other machines reach it; can be repeated")
	cmd.AddCommand(NewCmdAdd(f, nil), NewCmdList(f, nil), NewCmdRevoke(f, nil), NewCmdWitness(f, nil))
	return cli.NewCommand(cmd, o, runF)
}

func (o *Options) run(cmd *cobra.Command) error {
	if cmd.Flags().Changed("listen") && o.listen == "" {
		return cli.Usagef("--listen is empty")
	}
	if cmd.Flags().Changed("name") && len(o.names) == 0 {
		return cli.Usagef("--name is empty")
	}
	return o.serve(cmd.Context())
}

// dir is where the hub of the instance root is.
func (o *sharedOptions) dir() (string, error) {
	cfg, err := o.Config("")
	if err != nil {
		return "", err
	}
	home := cfg.Home()
	if home.Fallback {
		return "", cli.CannotStart(errors.New("a hub needs an instance root; set PICOCLAW_HOME to a directory"))
	}
	return filepath.Join(home.Path, "hub"), nil
}

// open opens the hub of the instance root.
func (o *sharedOptions) open() (*hub.Hub, error) {
	dir, err := o.dir()
	if err != nil {
		return nil, err
	}
	h, err := hub.Open(dir)
	if err != nil {
		return nil, cli.CannotStart(err)
	}
	return h, nil
}

func (o *sharedOptions) tenantFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.tenant, "tenant", hub.DefaultTenant, "the `tenant` that it is in")
}

func (o *Options) serve(ctx context.Context) error {
	if err := hub.CheckListen(o.listen, o.names); err != nil {
		return cli.Usagef("%w", err)
	}
	h, err := o.open()
	if err != nil {
		return err
	}
	if err := h.Listen(o.listen, o.names); err != nil {
		return cli.CannotStart(err)
	}
	cfg, err := o.Config("")
	if err != nil {
		return err
	}
	logger, err := o.Logger(cfg)
	if err != nil {
		return err
	}
	err = h.Serve(ctx, logger.Named("hub"), func(address string) {
		fmt.Fprintf(o.Err, "the hub serves at %s\n", address)
	})
	if err != nil {
		return cli.CannotStart(err)
	}
	return nil
}

// AddOptions are the options of `picoclaw hub add`.
type AddOptions struct {
	sharedOptions

	agents []string
	out    string
}

func NewCmdAdd(f *cli.Factory, runF func(*AddOptions) error) *cobra.Command {
	o := &AddOptions{sharedOptions: sharedOptions{Factory: f}}

	cmd := &cobra.Command{
		Use:   "add worker|gateway|admin|tenant NAME",
		Short: "Let in a machine, or a tenant",
		Long: `Writes a file with all that a machine needs to take part: where the hub is, what proves that it is this hub, and a key. The
file is that machine's alone: bring it there, and keep no copy.

A worker may serve the agents that are named and no others; for one that agents shall be moved to, name these too. A
gateway may ask all agents of its tenant. An admin keeps the tenant's configuration. Tenants know nothing of each other.`,
		Example: strings.Trim(`
  picoclaw hub add worker build1 --agent main --agent reader
  picoclaw hub add gateway front
  picoclaw hub add admin ops --out ops.fleet
  picoclaw hub add tenant research`, "\n"),
		Args:      twoArguments,
		ValidArgs: append(identity.Roles(), "tenant"),
		RunE:      func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.tenantFlag(cmd)
	cmd.Flags().StringArrayVar(&o.agents, "agent", nil, "`id` of an agent that a worker may serve; can be repeated")
	cmd.Flags().StringVar(&o.out, "out", "", "the `file` to write (default: NAME.fleet)")
	return cli.NewCommand(cmd, o, runF)
}

func (o *AddOptions) run(cmd *cobra.Command, args []string) error {
	if args[0] == "tenant" {
		return o.addTenant(cmd, args[1])
	}
	return o.add(cmd.Context(), hub.Identity{Role: args[0], Name: args[1], Agents: o.agents}, o.out)
}

func twoArguments(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.Usagef("%s takes what it is, and its name: %s", cli.CommandName(cmd), cmd.UseLine())
	}
	if !slices.Contains(cmd.ValidArgs, args[0]) {
		return cli.Usagef("%q can't be added: %s can", args[0], strings.Join(cmd.ValidArgs, ", "))
	}
	return nil
}

func (o *sharedOptions) addTenant(cmd *cobra.Command, name string) error {
	for _, flag := range []string{"tenant", "agent", "out"} {
		if cmd.Flags().Changed(flag) {
			return cli.Usagef("--%s is not for a tenant", flag)
		}
	}
	h, err := o.open()
	if err != nil {
		return err
	}
	if err := h.AddTenant(cmd.Context(), name); err != nil {
		return cli.FailOrNil(err)
	}
	fmt.Fprintf(o.Out, "tenant %s is there\n", name)
	return nil
}

func (o *sharedOptions) add(ctx context.Context, added hub.Identity, out string) error {
	if out == "" {
		out = added.Name + ".fleet"
	}
	h, err := o.open()
	if err != nil {
		return err
	}
	f, err := identity.Create(out) // first, so that no name is given away with a key that nobody has
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s is there already; name another with --out", out)
	}
	if err != nil {
		return cli.FailOrNil(err)
	}
	id, err := h.Add(ctx, o.tenant, added)
	if id == nil {
		return cli.FailOrNil(errors.Join(err, f.Close(), os.Remove(out)))
	}
	// It is in the register: whatever the running hub says, the key is not to be lost.
	if kept := id.Keep(f); kept != nil {
		return cli.FailOrNil(errors.Join(err, kept, os.Remove(out), h.Revoke(ctx, o.tenant, added.Name)))
	}
	if err != nil {
		return cli.FailOrNil(err)
	}
	fmt.Fprintf(o.Out, "%s holds the key of %s %s; it is for %s\n", out, added.Role, added.Name,
		strings.Join(id.URLs, ", "))
	return nil
}

// ListOptions are the options of `picoclaw hub list`.
type ListOptions struct {
	sharedOptions

	output cli.Format
}

func NewCmdList(f *cli.Factory, runF func(*ListOptions) error) *cobra.Command {
	o := &ListOptions{sharedOptions: sharedOptions{Factory: f}}

	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List who was let in",
		Example: "  picoclaw hub list\n  picoclaw hub list --output json",
		Args:    cli.NoArguments,
		RunE:    func(*cobra.Command, []string) error { return o.list(o.output) },
	}
	f.AddOutputFlag(cmd, &o.output)
	return cli.NewCommand(cmd, o, runF)
}

func (o *sharedOptions) list(output cli.Format) error {
	dir, err := o.dir()
	if err != nil {
		return err
	}
	r, err := hub.Read(dir)
	if err != nil {
		return cli.FailOrNil(err)
	}
	if output == cli.JSON {
		return o.PrintJSON(r)
	}
	w := tabwriter.NewWriter(terminal.New(o.Out), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tROLE\tNAME\tAGENTS\tADDED\tREVOKED")
	var tenants []string
	for name := range r.Tenants {
		tenants = append(tenants, name)
	}
	slices.Sort(tenants)
	for _, tenant := range tenants {
		for _, id := range r.Tenants[tenant].Identities {
			revoked := ""
			if id.Revoked != nil {
				revoked = id.Revoked.Local().Format("2006-01-02 15:04")
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", tenant, id.Role, id.Name, strings.Join(id.Agents, ","),
				id.Added.Local().Format("2006-01-02 15:04"), revoked)
		}
	}
	return w.Flush()
}

// RevokeOptions are the options of `picoclaw hub revoke`.
type RevokeOptions struct{ sharedOptions }

func NewCmdRevoke(f *cli.Factory, runF func(*RevokeOptions) error) *cobra.Command {
	o := &RevokeOptions{sharedOptions: sharedOptions{Factory: f}}
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Take back what a machine was given",
		Long:    "Takes back a machine's key. Its connections end at once if the hub runs. The name can be given anew.",
		Example: "  picoclaw hub revoke build1",
		Args:    cli.OneName("machine"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.tenantFlag(cmd)
	return cli.NewCommand(cmd, o, runF)
}

func (o *RevokeOptions) run(ctx context.Context, args []string) error {
	h, err := o.open()
	if err != nil {
		return err
	}
	if err := h.Revoke(ctx, o.tenant, args[0]); err != nil {
		return cli.FailOrNil(err)
	}
	fmt.Fprintf(o.Out, "%s is out\n", args[0])
	return nil
}

// WitnessOptions are the options of `picoclaw hub witness`.
type WitnessOptions struct{ sharedOptions }

func NewCmdWitness(f *cli.Factory, runF func(*WitnessOptions) error) *cobra.Command {
	o := &WitnessOptions{sharedOptions: sharedOptions{Factory: f}}
	cmd := &cobra.Command{
		Use:   "witness WORKER",
		Short: "Show how far a worker's record of calls had come, as it told the hub",
		Long: `Writes what a worker has told the running hub of its audit log, one note a line. On the worker, picoclaw audit verify
--witness FILE compares its log with that.`,
		Example: "  picoclaw hub witness build1 > build1.jsonl",
		Args:    cli.OneName("worker"),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.tenantFlag(cmd)
	return cli.NewCommand(cmd, o, runF)
}

func (o *WitnessOptions) run(ctx context.Context, args []string) error {
	h, err := o.open()
	if err != nil {
		return err
	}
	conn, err := h.Admin(o.tenant)
	if err != nil {
		return cli.FailOrNil(err)
	}
	defer conn.Close()
	notes := cleaned{terminal.New(o.Out)}
	if err := witness.Dump(ctx, conn, o.tenant, args[0], notes); err != nil {
		return cli.FailOrNil(err)
	}
	return nil
}

// cleaned writes what a worker has told; on a terminal it drives nothing.
type cleaned struct{ *terminal.Out }

func (c cleaned) Write(line []byte) (int, error) {
	_, err := io.WriteString(c.Out, c.Clean(string(line)))
	return len(line), err
}
