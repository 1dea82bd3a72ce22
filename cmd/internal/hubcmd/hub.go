// Package hubcmd has the command hub: its flags, help and arguments.
//
// picoclaw shows the command and executes picoclaw-hub for it. Only picoclaw-hub is linked with a NATS server.
// Package hubcmd must not know how a hub works.
package hubcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// Default values of flags.
const (
	DefaultListen = "127.0.0.1:4222"
	DefaultTenant = "main"
)

// Handlers run the subcommands of hub. picoclaw and picoclaw-hub have different ones.
type Handlers struct {
	Serve     func(context.Context, *ServeOptions) error
	Add       func(context.Context, *AddOptions) error
	AddTenant func(context.Context, *AddOptions) error
	List      func(context.Context, *cli.CommonOptions) error
	Revoke    func(context.Context, *MachineOptions) error
	Witness   func(context.Context, *MachineOptions) error
}

// ServeOptions are the options of `picoclaw hub`, which serves the hub.
type ServeOptions struct {
	*cli.Factory
	Listen string
	Names  []string
}

// NewCmdHub returns the command hub with its subcommands.
func NewCmdHub(f *cli.Factory, runs Handlers) *cobra.Command {
	o := &ServeOptions{Factory: f}
	cmd := &cobra.Command{
		Use:        "hub",
		SuggestFor: []string{"nats", "broker"},
		Short:      "Run the NATS server of a fleet, and manage its machines",
		Long: `Run a NATS server with TLS in the foreground, for the workers and gateways of a
fleet.

The first start creates the directory hub in the home with keys, a certificate
authority and the tenant main. picoclaw hub add writes an identity file for each
machine, while the hub runs or not. The listen address and host names are
remembered for later starts.

SIGTERM and SIGINT stop it; stored data is on disk.`,
		Example: "  picoclaw hub\n  picoclaw hub --listen 0.0.0.0:4222 --name hub.example.com",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("listen") && o.Listen == "" {
				return cli.UsageErrorf("--listen is empty")
			}
			if cmd.Flags().Changed("name") && len(o.Names) == 0 {
				return cli.UsageErrorf("--name is empty")
			}
			return runs.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "listening `address` and port, such as 0.0.0.0:4222 (default: "+DefaultListen+")")
	cmd.Flags().StringSliceVar(&o.Names, "name", nil, "host name or address for other machines; can be repeated")
	cmd.AddCommand(newCmdAdd(f, runs), newCmdList(f, runs), newCmdRevoke(f, runs), newCmdWitness(f, runs))
	return cmd
}

func addTenantFlag(cmd *cobra.Command, tenant *string) {
	cmd.Flags().StringVar(tenant, "tenant", DefaultTenant, "`tenant` of the identity")
}

// AddOptions are the options of `picoclaw hub add`.
type AddOptions struct {
	*cli.Factory
	Role, Name, Tenant, Out string
	Agents                  []string
}

func newCmdAdd(f *cli.Factory, runs Handlers) *cobra.Command {
	o := &AddOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "add worker|gateway|admin|tenant NAME",
		Short: "Enroll a machine or a tenant",
		Long: `Write an identity file for a machine: the hub's address, its certificate
authority, and a key. Move the file to that machine and keep no copy.

A worker may serve only the agents named here; for a worker that agents will be
moved to, name these too. A gateway may call all agents of its tenant. An admin
manages the tenant's configuration. Tenants can't see each other.`,
		Example: strings.Trim(`
  picoclaw hub add worker build1 --agent main --agent reader
  picoclaw hub add gateway front
  picoclaw hub add admin ops --out ops.fleet
  picoclaw hub add tenant research`, "\n"),
		Args:      checkAddArguments,
		ValidArgs: append(identity.Roles(), "tenant"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Role, o.Name = args[0], args[1]
			if o.Role != "tenant" {
				return runs.Add(cmd.Context(), o)
			}
			for _, flag := range []string{"tenant", "agent", "out"} {
				if cmd.Flags().Changed(flag) {
					return cli.UsageErrorf("--%s is not for a tenant", flag)
				}
			}
			return runs.AddTenant(cmd.Context(), o)
		},
	}
	addTenantFlag(cmd, &o.Tenant)
	cmd.Flags().StringArrayVar(&o.Agents, "agent", nil, "`id` of an agent that a worker may serve; can be repeated")
	cmd.Flags().StringVar(&o.Out, "out", "", "output `file` (default: NAME.fleet)")
	return cmd
}

// checkAddArguments requires a role (or tenant) and a name.
func checkAddArguments(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return cli.UsageErrorf("%s takes a kind and a name: %s", cli.SubcommandPath(cmd), cmd.UseLine())
	}
	if !slices.Contains(cmd.ValidArgs, args[0]) {
		return cli.UsageErrorf("%q can't be added: %s can", args[0], strings.Join(cmd.ValidArgs, ", "))
	}
	return nil
}

func newCmdList(f *cli.Factory, runs Handlers) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List enrolled machines",
		Example: "  picoclaw hub list\n  picoclaw hub list --output json",
	}
	run := func(o *cli.CommonOptions, ctx context.Context) error { return runs.List(ctx, o) }
	return cli.NewCommonContextCommand(f, cmd, run, nil, cli.WithOutput)
}

// MachineOptions are the options of revoke and witness: the name and tenant of one machine.
type MachineOptions struct {
	*cli.Factory
	Name, Tenant string
}

func newCmdRevoke(f *cli.Factory, runs Handlers) *cobra.Command {
	o := &MachineOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Revoke a machine's key",
		Long:    "Revoke a machine's key. If the hub runs, its connections end at once. The name can be used again.",
		Example: "  picoclaw hub revoke build1",
		Args:    cli.OneArgumentWithNoun(&o.Name, "the name of one machine"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runs.Revoke(cmd.Context(), o) },
	}
	addTenantFlag(cmd, &o.Tenant)
	return cmd
}

func newCmdWitness(f *cli.Factory, runs Handlers) *cobra.Command {
	o := &MachineOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "witness WORKER",
		Short: "Show the positions of a worker's audit log",
		Long: `Print the audit log positions that a worker reported to the running hub, one per line. On the worker, picoclaw audit verify
--witness FILE compares its log with them.`,
		Example: "  picoclaw hub witness build1 > build1.jsonl",
		Args:    cli.OneArgumentWithNoun(&o.Name, "the name of one worker"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runs.Witness(cmd.Context(), o) },
	}
	addTenantFlag(cmd, &o.Tenant)
	return cmd
}
