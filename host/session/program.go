package session

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/isolation"
)

// Program is a program that runs for an agent and is no plugin: a hook, or the command line of a model's maker. What it
// may do is the operator's to say, within what the agent's policy opens of the workspace.
type Program struct {
	Name string // in messages, and of its home: one program each
	// Command is what is run. Its standard streams are files, Env is its whole environment but for what its home and the
	// network take.
	Command             *exec.Cmd
	Workspace           string   // of what the agent has of it: none, ro or rw; empty for none
	ReadOnly, ReadWrite []string // existing paths that it sees besides
	Network             bool     // the host's network, where no hosts are named
	Hosts               []string // that it reaches and no others, as in network.allow; a sandbox's alone
	Secrets             []string // of the operator's that it may use on those hosts without seeing them
}

// Start starts a program through the isolation layer as it is configured, with the agent's bounds of memory and
// processes. It ends with the host.
func (s *Session) Start(p Program) (*isolation.Process, error) {
	m, err := s.host.ready()
	if err != nil {
		return nil, err
	}
	open := s.kernelPaths(true).Limit(p.Workspace)
	profile := isolation.Profile{
		Name:      p.Name,
		ReadOnly:  slices.Concat(existing(open.ReadOnly), p.ReadOnly),
		ReadWrite: slices.Concat(existing(open.ReadWrite), p.ReadWrite),
		Hide:      open.Hidden,
		Protect:   s.protected,
		Exec:      true,
		Network:   p.Network && len(p.Hosts) == 0,
		Terminals: true,
		Confine:   s.policy.Guard().Restrict,
		UserEnv:   true,
		UserEnvID: s.userEnvID() + "-" + filepath.Base(p.Name),
	}
	if profile.Confine || s.policy.Isolation().Enabled {
		profile.Group = group(s.policy.Limits().Exec)
	}
	cmd := *p.Command
	if len(p.Hosts) > 0 {
		if !s.policy.Isolation().Enabled {
			return nil, fmt.Errorf("only a sandbox keeps %s to the hosts that it may reach; set isolation.enabled to true, or name no hosts",
				p.Name)
		}
		n, err := s.apartNetwork(Apart{Name: p.Name, Hosts: p.Hosts, Secrets: p.Secrets})
		if err != nil {
			return nil, err
		}
		env, err := n.give(&profile)
		if err != nil {
			return nil, err
		}
		cmd.Env = slices.Concat(cmd.Env, env)
	} else if len(p.Secrets) > 0 {
		return nil, fmt.Errorf("%s is granted secrets and no hosts to use them on; name the hosts", p.Name)
	}
	return m.isolation.Start(&cmd, profile)
}
