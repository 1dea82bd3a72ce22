// Package hubcmd has the command hub: its flags, help and arguments.
//
// picoclaw shows it and executes picoclaw-hub for it, which is linked with a NATS server. It must not know how a hub works.
package hubcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// Defaults of the flags.
const (
	DefaultListen = "127.0.0.1:4222"
	DefaultTenant = "main"
)

// Runs are the functions behind the commands.
type Runs struct {
	Serve     func(context.Context, *ServeOptions) error
	Add       func(context.Context, *AddOptions) error
	AddTenant func(context.Context, *AddOptions) error
	List      func(context.Context, *ListOptions) error
	Revoke    func(context.Context, *NameOptions) error
	Witness   func(context.Context, *NameOptions) error
}

// ServeOptions are the options of `picoclaw hub`.
type ServeOptions struct {
	*cli.Factory
	Listen string
	Names  []string
}

// NewCmdHub returns the command hub with its subcommands.
func NewCmdHub(f *cli.Factory, runs Runs) *cobra.Command {
	o := &ServeOptions{Factory: f}
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("listen") && o.Listen == "" {
				return cli.Usagef("--listen is empty")
			}
			if cmd.Flags().Changed("name") && len(o.Names) == 0 {
				return cli.Usagef("--name is empty")
			}
			return runs.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Listen, "listen", "", "the `address` and port, 0.0.0.0:4222 for all (default: "+DefaultListen+")")
	cmd.Flags().StringSliceVar(&o.Names, "name", nil, "a host name or address by which other machines reach it; can be repeated")
	cmd.AddCommand(newCmdAdd(f, runs), newCmdList(f, runs), newCmdRevoke(f, runs), newCmdWitness(f, runs))
	return cmd
}

func addTenantFlag(cmd *cobra.Command, tenant *string) {
	cmd.Flags().StringVar(tenant, "tenant", DefaultTenant, "the `tenant` that it is in")
}

// AddOptions are the options of `picoclaw hub add`.
type AddOptions struct {
	*cli.Factory
	Role, Name, Tenant, Out string
	Agents                  []string
}

func newCmdAdd(f *cli.Factory, runs Runs) *cobra.Command {
	o := &AddOptions{Factory: f}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Role, o.Name = args[0], args[1]
			if o.Role != "tenant" {
				return runs.Add(cmd.Context(), o)
			}
			for _, flag := range []string{"tenant", "agent", "out"} {
				if cmd.Flags().Changed(flag) {
					return cli.Usagef("--%s is not for a tenant", flag)
				}
			}
			return runs.AddTenant(cmd.Context(), o)
		},
	}
	addTenantFlag(cmd, &o.Tenant)
	cmd.Flags().StringArrayVar(&o.Agents, "agent", nil, "`id` of an agent that a worker may serve; can be repeated")
	cmd.Flags().StringVar(&o.Out, "out", "", "the `file` to write (default: NAME.fleet)")
	return cmd
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

// ListOptions are the options of `picoclaw hub list`.
type ListOptions struct {
	*cli.Factory
	Output cli.Format
}

func newCmdList(f *cli.Factory, runs Runs) *cobra.Command {
	o := &ListOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List who was let in",
		Example: "  picoclaw hub list\n  picoclaw hub list --output json",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runs.List(cmd.Context(), o) },
	}
	f.AddOutputFlag(cmd, &o.Output)
	return cmd
}

// NameOptions are the options of a command about one machine.
type NameOptions struct {
	*cli.Factory
	Name, Tenant string
}

func newCmdRevoke(f *cli.Factory, runs Runs) *cobra.Command {
	o := &NameOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "Take back what a machine was given",
		Long:    "Takes back a machine's key. Its connections end at once if the hub runs. The name can be given anew.",
		Example: "  picoclaw hub revoke build1",
		Args:    cli.OneName(&o.Name, "the name of one machine"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runs.Revoke(cmd.Context(), o) },
	}
	addTenantFlag(cmd, &o.Tenant)
	return cmd
}

func newCmdWitness(f *cli.Factory, runs Runs) *cobra.Command {
	o := &NameOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "witness WORKER",
		Short: "Show how far a worker's record of calls had come, as it told the hub",
		Long: `Writes what a worker has told the running hub of its audit log, one note a line. On the worker, picoclaw audit verify
--witness FILE compares its log with that.`,
		Example: "  picoclaw hub witness build1 > build1.jsonl",
		Args:    cli.OneName(&o.Name, "the name of one worker"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runs.Witness(cmd.Context(), o) },
	}
	addTenantFlag(cmd, &o.Tenant)
	return cmd
}
