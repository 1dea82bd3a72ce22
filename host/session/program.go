package session

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/isolation"
)

// AgentProgram is a program that runs for an agent without being a plugin, such as a hook or a model vendor's CLI.
// The operator sets its access, within the agent's access to the workspace.
type AgentProgram struct {
	Name string // in messages; also names its HOME, so it is unique per program
	// Command is the process to start. Its standard streams are files. Env is its whole environment, except for HOME
	// and proxy variables.
	Command             *exec.Cmd
	Workspace           string   // access to the agent's workspace: none, ro or rw; empty for none
	ReadOnly, ReadWrite []string // other existing paths it can access
	Network             bool     // full host network, unless Hosts is set
	Hosts               []string // the only hosts allowed, as in network.allow; needs a sandbox
	Secrets             []string // operator secrets the proxy inserts for those hosts; the program never sees them
}

// StartConfinedProgram starts a program in the configured isolation layer, with the memory and process limits of the
// agent. Closing the host ends the program.
func (s *Session) StartConfinedProgram(p AgentProgram) (*isolation.Process, error) {
	m, err := s.host.initRuntime()
	if err != nil {
		return nil, err
	}
	profile := s.newProfile(p.Name, p.Workspace, true, s.commandHomeID()+"-"+filepath.Base(p.Name))
	profile.ReadOnly, profile.ReadWrite = append(profile.ReadOnly, p.ReadOnly...), append(profile.ReadWrite, p.ReadWrite...)
	profile.Network = p.Network && len(p.Hosts) == 0
	if profile.Confine || s.policy.IsolationOptions().Enabled {
		profile.Group = cgroupLimits(s.policy.CallLimits().Exec)
	}
	cmd := *p.Command
	if len(p.Hosts) > 0 {
		if !s.policy.IsolationOptions().Enabled {
			return nil, fmt.Errorf("only a sandbox can limit %s to hosts; set isolation.enabled to true, or remove the hosts",
				p.Name)
		}
		n, err := s.newOperatorProgramNetwork(OperatorProgram{Name: p.Name, Hosts: p.Hosts, Secrets: p.Secrets})
		if err != nil {
			return nil, err
		}
		env, err := n.attachToProfile(&profile)
		if err != nil {
			return nil, err
		}
		cmd.Env = slices.Concat(cmd.Env, env)
	} else if len(p.Secrets) > 0 {
		return nil, fmt.Errorf("%s is granted secrets and no hosts to use them on; name the hosts", p.Name)
	}
	return m.isolation.Start(&cmd, profile)
}
