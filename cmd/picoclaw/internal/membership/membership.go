// Package membership connects commands to a fleet by the flags --fleet and --credentials.
//
// It must not know the purpose of the connection.
package membership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// FleetFlags are --fleet and --credentials, the address and the credentials of a fleet.
type FleetFlags struct {
	*cli.Factory
	Address, credentials string
	Name                 string // of a worker, where --name says it

	// Wait, if not nil, makes JoinFleet retry while the hub is unreachable. JoinFleet calls Wait once with the reason.
	Wait func(error)
}

// AddFlags adds --fleet and --credentials to a command. doc is the help text of --fleet.
func (o *FleetFlags) AddFlags(cmd *cobra.Command, doc string) {
	cmd.Flags().StringVar(&o.Address, "fleet", "", doc)
	cmd.Flags().StringVar(&o.credentials, "credentials", "",
		"NATS credentials `file`, for a fleet without a hub (default: fleet.credentials)")
}

// JoinTimeout limits the time that joining a fleet may take.
const JoinTimeout = 10 * time.Second

// FleetMembership is the connection of this machine to a fleet, with its name and tenant there.
type FleetMembership struct {
	*fleet.Fleet
	Connection *nats.Conn
	Id         *identity.Identity // nil in a fleet that is no hub's
	Name       string
	Tenant     string
}

// retryPause is the time between two attempts of JoinFleet.
const retryPause = time.Second

// JoinFleet connects to the fleet. The name of an identity file has priority over name. If Wait is set, JoinFleet
// retries while the hub is unreachable. An identity must have one of the roles, if any are given.
func (o *FleetFlags) JoinFleet(ctx context.Context, cfg *config.Config, name string, roles ...string) (*FleetMembership, error) {
	for told := false; ; told = true {
		j, err := o.connectFleet(ctx, cfg, name, roles)
		if err == nil || o.Wait == nil || !identity.IsUnreached(err) {
			return j, err
		}
		if !told {
			o.Wait(err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retryPause):
		}
	}
}

// connectFleet connects to the fleet once, without retries.
func (o *FleetFlags) connectFleet(ctx context.Context, cfg *config.Config, name string, roles []string) (*FleetMembership, error) {
	set := cfg.Fleet()
	set.URL, set.Credentials = cmp.Or(o.Address, set.URL), cmp.Or(o.credentials, set.Credentials)
	j := &FleetMembership{Name: cmp.Or(o.Name, name), Tenant: set.Tenant}
	file := cmp.Or(set.URL, set.Credentials)
	var err error
	if file == "" || strings.Contains(file, "://") {
		j.Connection, err = identity.Dial(set.URL, name, set.Credentials)
	} else if err = o.checkIdentityFlags(file); err != nil {
		return nil, err
	} else if j.Id, err = identity.Read(file); err == nil {
		if len(roles) > 0 {
			err = j.RequireRole(roles...) // before a wait for the hub
		}
		if err == nil {
			j.Connection, j.Id, err = identity.Connect(file)
		}
	}
	if err != nil {
		return nil, cli.StartError(err)
	}
	if j.Id != nil {
		j.Name, j.Tenant = j.Id.Name, j.Id.Tenant
	}
	ctx, cancel := context.WithTimeout(ctx, JoinTimeout)
	defer cancel()
	if j.Fleet, err = fleet.Join(ctx, j.Connection, j.Tenant); err != nil {
		j.Connection.Close()
		return nil, cli.StartError(err)
	}
	return j, nil
}

// checkIdentityFlags refuses --name and --credentials beside an identity file, which has both.
func (o *FleetFlags) checkIdentityFlags(file string) error {
	var given []string
	if o.Name != "" {
		given = append(given, "--name")
	}
	if o.credentials != "" && o.credentials != file {
		given = append(given, "--credentials")
	}
	if len(given) == 0 {
		return nil
	}
	return cli.UsageErrorf("%s can't be used with the identity file %s; remove it, or "+
		"enroll another identity with `picoclaw hub add`", strings.Join(given, " and "), file)
}

// RequireRole returns an error if the identity has none of the roles. The error recommends an identity with the first
// role. Members without an identity may do everything.
func (j *FleetMembership) RequireRole(roles ...string) error {
	if j.Id == nil || slices.Contains(roles, j.Id.Role) {
		return nil
	}
	agents := ""
	if roles[0] == identity.Worker {
		agents = " --agent ID"
	}
	return fmt.Errorf("%s is %s in the fleet, and %s's identity is needed: `picoclaw hub add %s NAME%s`",
		j.Id.Name, withArticle(j.Id.Role), withArticle(roles[0]), roles[0], agents)
}

// withArticle returns a role with "a" or "an" before it.
func withArticle(role string) string {
	if role == identity.Admin {
		return "an " + role
	}
	return "a " + role
}

// ExplainClose returns why NATS closed the connection for good, and the remedy.
func (m *FleetMembership) ExplainClose() error {
	err := m.Connection.LastError()
	if m.Id != nil {
		return m.Id.Explain(err)
	}
	return fmt.Errorf("NATS refuses %s: %w; its credentials were revoked, or belong to another server; create new ones", m.Name, err)
}
