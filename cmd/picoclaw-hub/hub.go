package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/hubcmd"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
)

// hubHandlers returns the functions that run the subcommands of hub.
func hubHandlers() hubcmd.Handlers {
	return hubcmd.Handlers{Serve: serveHub, Add: addIdentity, AddTenant: addTenant, List: listIdentities, Revoke: revokeIdentity, Witness: showWitness}
}

// hubDir returns the hub's directory in the home.
func hubDir(f *cli.Factory) (string, error) {
	cfg, err := f.LoadConfig("")
	if err != nil {
		return "", err
	}
	home := cfg.Home()
	if home.Fallback {
		return "", cli.StartError(errors.New("a hub needs a home; set PICOCLAW_HOME to a directory"))
	}
	return filepath.Join(home.Path, "hub"), nil
}

// openHub opens the hub in the home.
func openHub(f *cli.Factory) (*hub.Hub, error) {
	dir, err := hubDir(f)
	if err != nil {
		return nil, err
	}
	h, err := hub.Open(dir)
	return h, cli.StartError(err)
}

func serveHub(ctx context.Context, o *hubcmd.ServeOptions) error {
	if err := hub.CheckListen(o.Listen, o.Names); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	h, err := openHub(o.Factory)
	if err != nil {
		return err
	}
	if err = h.Listen(o.Listen, o.Names); err != nil {
		return cli.StartError(err)
	}
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	logger, err := o.NewLogger(cfg)
	if err != nil {
		return err
	}
	return cli.StartError(h.Serve(ctx, logger.Named("hub"), func(address string) {
		fmt.Fprintf(o.Err, "the hub serves at %s\n", address)
	}))
}

func addTenant(ctx context.Context, o *hubcmd.AddOptions) error {
	h, err := openHub(o.Factory)
	if err != nil {
		return err
	}
	if err := h.AddTenant(ctx, o.Name); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Factory.Out, "tenant %s is created\n", o.Name)
	return nil
}

func addIdentity(ctx context.Context, o *hubcmd.AddOptions) error {
	added, out := hub.Identity{Role: o.Role, Name: o.Name, Agents: o.Agents}, o.Out
	out = cmp.Or(out, added.Name+".fleet")
	h, err := openHub(o.Factory)
	if err != nil {
		return err
	}
	f, err := identity.Create(out) // first, so that no name is given away with a key that nobody has
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s already exists; name another file with --out", out)
	}
	if err != nil {
		return cli.FailedError(err)
	}
	id, err := h.Add(ctx, o.Tenant, added)
	if id == nil {
		return cli.FailedError(errors.Join(err, f.Close(), os.Remove(out)))
	}
	// It is in the register: whatever the running hub says, the key is not to be lost.
	if kept := id.Keep(f); kept != nil {
		return cli.FailedError(errors.Join(err, kept, os.Remove(out), h.Revoke(ctx, o.Tenant, added.Name)))
	}
	if err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Factory.Out, "%s contains the key of %s %s for %s\n", out, added.Role, added.Name,
		strings.Join(id.URLs, ", "))
	return nil
}

func listIdentities(_ context.Context, o *cli.CommonOptions) error {
	dir, err := hubDir(o.Factory)
	if err != nil {
		return err
	}
	r, err := hub.Read(dir)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.Output == cli.JSON {
		return o.PrintJSON(r)
	}
	w := tabwriter.NewWriter(terminal.NewWriter(o.Out), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TENANT\tROLE\tNAME\tAGENTS\tADDED\tREVOKED")
	for _, tenant := range slices.Sorted(maps.Keys(r.Tenants)) {
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

func revokeIdentity(ctx context.Context, o *hubcmd.MachineOptions) error {
	h, err := openHub(o.Factory)
	if err != nil {
		return err
	}
	if err := h.Revoke(ctx, o.Tenant, o.Name); err != nil {
		return cli.FailedError(err)
	}
	fmt.Fprintf(o.Out, "%s is revoked\n", o.Name)
	return nil
}

func showWitness(ctx context.Context, o *hubcmd.MachineOptions) error {
	h, err := openHub(o.Factory)
	if err != nil {
		return err
	}
	if err = h.CheckEnrolled(o.Tenant, o.Name); err != nil {
		return cli.FailedError(err)
	}
	conn, err := h.Admin(o.Tenant)
	if err != nil {
		return cli.FailedError(err)
	}
	defer conn.Close()
	notes := controlCharFilter{terminal.NewWriter(o.Out)}
	return cli.FailedError(witness.Dump(ctx, conn, o.Tenant, o.Name, notes))
}

// controlCharFilter replaces control characters in a worker's text if the output is a terminal.
type controlCharFilter struct{ *terminal.Writer }

func (c controlCharFilter) Write(line []byte) (int, error) {
	_, err := io.WriteString(c.Writer, c.ReplaceControls(string(line)))
	return len(line), err
}
