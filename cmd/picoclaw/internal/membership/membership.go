// Package membership joins a fleet as the flags --fleet and --credentials say.
//
// It must not know what the command does in the fleet.
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

// Flags are --fleet and --credentials: the fleet that a command is about.
type Flags struct {
	*cli.Factory
	Address, credentials string
	Name                 string // of a worker, where --name says it

	// Wait, if not nil, has Join try again for as long as the hub is not reached, after it has called Wait with the reason
	// once.
	Wait func(error)
}

// AddTo adds --fleet and --credentials.
func (o *Flags) AddTo(cmd *cobra.Command, doc string) {
	cmd.Flags().StringVar(&o.Address, "fleet", "", doc)
	cmd.Flags().StringVar(&o.credentials, "credentials", "",
		"NATS credentials `file`, for a fleet without a hub (default: fleet.credentials)")
}

// JoinTimeout is how long it may take to be let into a fleet.
const JoinTimeout = 10 * time.Second

// Member is a fleet, and who this machine is there.
type Member struct {
	*fleet.Fleet
	Connection *nats.Conn
	Id         *identity.Identity // nil in a fleet that is no hub's
	Name       string
	Tenant     string
}

// retryPause is how long Join waits until it tries again.
const retryPause = time.Second

// Join joins the fleet: as who an identity file says, or else under a name of this machine's.
func (o *Flags) Join(ctx context.Context, cfg *config.Config, name string) (*Member, error) {
	for told := false; ; told = true {
		j, err := o.join(ctx, cfg, name)
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

func (o *Flags) join(ctx context.Context, cfg *config.Config, name string) (*Member, error) {
	set := cfg.Fleet()
	set.URL, set.Credentials = cmp.Or(o.Address, set.URL), cmp.Or(o.credentials, set.Credentials)
	j := &Member{Name: cmp.Or(o.Name, name), Tenant: set.Tenant}
	file := cmp.Or(set.URL, set.Credentials)
	var err error
	if file == "" || strings.Contains(file, "://") {
		j.Connection, err = identity.Dial(set.URL, name, set.Credentials)
	} else if err = o.noOther(file); err != nil {
		return nil, err
	} else {
		j.Connection, j.Id, err = identity.Connect(file)
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

// noOther refuses flags beside an identity file that say who this machine is.
func (o *Flags) noOther(file string) error {
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

// Require refuses an identity that has none of the roles, of which the first is named as the one to have.
func (j *Member) Require(roles ...string) error {
	if j.Id == nil || slices.Contains(roles, j.Id.Role) {
		return nil
	}
	agents := ""
	if roles[0] == identity.Worker {
		agents = " --agent ID"
	}
	return fmt.Errorf("%s is %s in the fleet, and %s's identity is needed: `picoclaw hub add %s NAME%s`",
		j.Id.Name, article(j.Id.Role), article(roles[0]), roles[0], agents)
}

// article puts the article before a role.
func article(role string) string {
	if role == identity.Admin {
		return "an " + role
	}
	return "a " + role
}

// ExplainClose says why NATS has closed the connection for good, which is never made again, and what to do.
func (m *Member) ExplainClose() error {
	err := m.Connection.LastError()
	if m.Id != nil {
		return m.Id.Explain(err)
	}
	return fmt.Errorf("NATS does not let %s in any more: %w; its credentials were revoked, or are another server's; have new "+
		"ones made", m.Name, err)
}
