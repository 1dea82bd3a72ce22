package host

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/isolation"
)

// Apart is a program that an operator has run in a sandbox with nothing of an agent's, such as one that is to be looked
// at before it becomes a plugin.
type Apart struct {
	Name string // in messages
	// Command is what is run. Its standard streams are files, Env is its whole environment but for what the network takes.
	Command             *exec.Cmd
	ReadOnly, ReadWrite []string // existing paths that it sees besides the system's
	Hosts               []string // that it reaches, as in network.allow; none if empty
	From                []string // programs whose hosts it reaches besides, as in network.from
	Secrets             []string // of the operator's that it may use without seeing them
}

// RunApart runs a program in a sandbox, whatever the configuration says of isolation, until it ends or ctx is done. A
// program that fails is an *isolation.ExitError.
func (s *Session) RunApart(ctx context.Context, a Apart) error {
	iso, err := isolation.Configure(isolation.Config{Enabled: true, Home: s.policy.Home()}, s.host.logger.Named("isolation"))
	if err != nil {
		return err
	}
	defer func() { _ = iso.Close() }()
	profile := isolation.Profile{
		Name: a.Name, ReadOnly: a.ReadOnly, ReadWrite: a.ReadWrite, Exec: true,
		Group: isolation.GroupLimits{Memory: boundedMemory(s.policy.Limits().Exec)},
	}
	cmd := *a.Command
	if len(a.Hosts)+len(a.From) > 0 {
		n, err := s.apartNetwork(a)
		if err != nil {
			return err
		}
		env, err := n.give(&profile)
		if err != nil {
			return err
		}
		cmd.Env = slices.Concat(cmd.Env, env)
	}
	return iso.Run(ctx, &cmd, profile)
}

// apartNetwork is what a program reaches that is run apart. It is no call's, so nothing of it is recorded.
func (s *Session) apartNetwork(a Apart) (*network, error) {
	rules := policy.Network{Rules: egress.Rules{Allow: a.Hosts}, From: a.From}
	if own := s.policy.Network(); own != nil {
		rules.Hosts = own.Hosts // addresses that the operator has given names
	}
	n := &network{session: s, log: reachedLog{write: func(audit.Record) error { return nil }, fail: func(error) {}}}
	var err error
	if n.policy, err = s.host.compiled(&rules, ""); err != nil {
		return nil, fmt.Errorf("the hosts of %s: %w", a.Name, err)
	}
	if n.secrets, err = secretsOf(s.policy.Secrets(), a.Secrets); err != nil {
		return nil, err
	}
	if len(n.secrets) > 0 {
		if n.authority, err = egress.NewAuthority(); err != nil {
			return nil, err
		}
	}
	n.name = filepath.Base(a.Name) + "-apart"
	return n, nil
}
