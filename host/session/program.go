package session

import (
	"context"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/policy"
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

// OperatorProgram is a program an operator runs in a sandbox without an agent's access, for example to inspect a
// plugin before installing it.
type OperatorProgram struct {
	Name string // in messages
	// Command is the process to start. Its standard streams are files. Env is its whole environment, except for proxy
	// variables.
	Command             *exec.Cmd
	ReadOnly, ReadWrite []string // existing paths it can access besides the system's
	Hosts               []string // allowed hosts, as in network.allow; no network if empty
	HostsFrom           []string // programs whose configured hosts are allowed too, as in network.from
	Secrets             []string // operator secrets the proxy inserts; the program never sees them
	Login               string   // name of the MCP server with whose login the proxy signs in; empty for none
}

// RunOperatorProgram runs a program in a sandbox until it exits or ctx is done, even if the configuration turns
// isolation off. The program has the limits of a command and limited disk space. A failing program returns an
// *isolation.ExitError.
func (s *Session) RunOperatorProgram(ctx context.Context, a OperatorProgram) error {
	iso, err := isolation.NewStarter(isolation.Config{
		Enabled: true, Home: s.policy.HomePath(), UseCgroups: true,
	}, s.host.logger.Named("isolation"))
	if err != nil {
		return err
	}
	defer func() { _ = iso.Close() }()
	bounds := s.policy.CallLimits().Exec
	bounds.CPU, bounds.Memory = 0, commandMemoryLimit(bounds) // ctx bounds its time
	profile := isolation.Profile{
		Name: a.Name, ReadOnly: a.ReadOnly, ReadWrite: a.ReadWrite, Exec: true,
		Limits: bounds, Group: cgroupLimits(bounds),
	}
	cmd := *a.Command
	var n *sandboxNetwork
	if len(a.Hosts)+len(a.HostsFrom) > 0 {
		if n, err = s.newOperatorProgramNetwork(a); err != nil {
			return err
		}
		env, attachErr := n.attachToProfile(&profile)
		if attachErr != nil {
			return attachErr
		}
		cmd.Env = slices.Concat(cmd.Env, env)
	}
	ctx, done := watchDiskUse(ctx, a.ReadWrite)
	defer done()
	reaching := n.watchCall(ctx, s, nil)
	err = iso.Run(ctx, &cmd, profile)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if refused := n.endCallWatch(reaching); err != nil && len(refused) > 0 {
		err = fmt.Errorf("%w\n%s", err, strings.Join(refused, "\n"))
	}
	return err
}

// Limits for the directories of a sandboxed program. The kernel has no such limit, so watchDiskUse polls them; a
// program can exceed them for a moment.
const (
	maxDiskBytes      = 2 << 30 // bytes
	maxDiskFiles      = 200_000
	diskCheckInterval = 250 * time.Millisecond
)

// watchDiskUse returns a context that is cancelled with a cause when dirs exceed the disk limits. done stops the watch.
func watchDiskUse(ctx context.Context, dirs []string) (watched context.Context, done func()) {
	watched, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(diskCheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-tick.C:
			}
			if err := checkDiskUse(watched, dirs); err != nil {
				cancel(err)
			}
		}
	}()
	return watched, func() { cancel(nil); <-ended }
}

// checkDiskUse returns an error if dirs hold more than maxDiskFiles files or maxDiskBytes bytes.
func checkDiskUse(ctx context.Context, dirs []string) error {
	files, size := 0, int64(0)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // it was removed meanwhile, or is not to be looked at
			}
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			switch files++; {
			case files > maxDiskFiles:
				return fmt.Errorf("it was ended: it created more than %d files", maxDiskFiles)
			case size > maxDiskBytes:
				return fmt.Errorf("it was ended: it wrote more than %d MB", maxDiskBytes>>20)
			}
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newOperatorProgramNetwork returns the network of a sandboxed program. Its connections are not logged, since they
// belong to no call.
func (s *Session) newOperatorProgramNetwork(a OperatorProgram) (*sandboxNetwork, error) {
	rules := policy.NetworkRules{PolicyRules: egress.PolicyRules{Allow: a.Hosts}, From: a.HostsFrom}
	if own := s.policy.NetworkRules(); own != nil {
		rules.Hosts = own.Hosts // addresses that the operator has given names
	}
	n := &sandboxNetwork{session: s, log: connectionLog{write: func(audit.Record) error { return nil }, fail: func(error) {}}}
	var err error
	if n.policy, err = s.host.compileNetworkPolicy(&rules, ""); err != nil {
		return nil, fmt.Errorf("the hosts of %s: %w", a.Name, err)
	}
	if n.secrets, err = s.fetchNetworkSecrets(a.Secrets, a.Login); err != nil {
		return nil, err
	}
	if len(n.secrets) > 0 {
		if n.authority, err = egress.NewCertificateAuthority(); err != nil {
			return nil, err
		}
	}
	n.name = filepath.Base(a.Name) + "-apart"
	return n, nil
}
