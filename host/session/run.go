package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// ProgramRunSpec describes a whole program that a person runs with an agent's access to a workspace.
type ProgramRunSpec struct {
	Name string // of the program, in messages and in the audit log
	// Supervisor is the process to start, which confines the program. Env is its whole environment, except for HOME and
	// proxy variables.
	Supervisor *exec.Cmd
	Args       map[string]any // for the audit log
	UserEnv    string         // names the HOME directory; it does not depend on the policy
	ReadOnly   []string       // other existing paths the program can read
	Hosts      []string       // allowed hosts in addition to the policy's, as in network.allow
	Ports      []uint16       // of servers that this machine reaches, in addition to the policy's
	Secrets    []ProgramRunSecret
	SharedGit  *protect.SharedGitDir // git directory outside the workspace that the program may change; nil for none
}

// ProgramRunSecret is a secret that the proxy inserts for some hosts. The program sees only the placeholder.
type ProgramRunSecret struct {
	Name, Placeholder, Value string
	config.Secret            // hosts and header; its source is not used
}

// ProgramRun is a program started by [Session.StartRun], with its network and its audit record.
type ProgramRun struct {
	*isolation.Process

	// Policy is what the supervisor enforces on the program.
	Policy *pluginpolicy.Policy

	session *Session
	network *sandboxNetwork
	calls   *networkWatchedCall
	record  audit.Record
}

// Hosts returns the first hosts that the program connected to, as entries of network.allow, and the reasons for
// connections refused so far.
func (r *ProgramRun) Hosts() (reached, refused []string) {
	if r.network == nil {
		return nil, nil
	}
	r.network.mu.Lock()
	defer r.network.mu.Unlock()
	return slices.Clone(r.calls.reached), slices.Clone(r.calls.refused)
}

// AllowHost allows the program another host, written as in network.allow, after an audit entry.
func (r *ProgramRun) AllowHost(host string) error {
	if r.network == nil {
		return errors.New("isolation.network is off")
	}
	if _, err := egress.CompilePolicy(egress.PolicyRules{Allow: []string{host}}); err != nil {
		return err
	}
	entry := audit.Record{Tool: runTool, Rule: "run.allow", Args: map[string]any{"allow": host}, Decision: guard.Allow.String()}
	if err := r.logEntry(entry, "-allow"); err != nil {
		return err
	}
	return r.network.policy.AllowHost(host)
}

// RequestApproval asks a person with `picoclaw approvals`, waits for the answer, and logs it.
func (r *ProgramRun) RequestApproval(ctx context.Context, q ApprovalQuestion) bool {
	consent := r.session.requestApproval(ctx, q)
	entry := audit.Record{Tool: q.Tool, Rule: q.Decision.Rule, Args: q.Args, Decision: guard.Ask.String(), Approval: consent.approval,
		Answer: approvalAnswerWord(consent.allowed)}
	return consent.approval != nil && r.logEntry(entry, "-approval") == nil && consent.allowed
}

// logEntry writes another entry of the run to the audit log.
func (r *ProgramRun) logEntry(entry audit.Record, suffix string) error {
	entry.Time, entry.Agent, entry.Session, entry.Origin = time.Now().UTC(), r.record.Agent, r.record.Session, r.record.Origin
	entry.Call = r.record.Call + suffix
	return r.session.logCallEnd(entry.RedactedAndShortened(), &Result{}, false).toError()
}

// LogRunEnd writes the end of the run to the audit log. undoID is the run's change in the undo history, and failure
// describes an error; both may be empty.
func (r *ProgramRun) LogRunEnd(undoID, failure string) error {
	end := r.record
	end.State, end.Millis = "", toMilliseconds(time.Since(end.Time))
	end.Undo, end.Error = undoID, failure
	return r.session.logCallEnd(end, &Result{}, true).toError()
}

// StartRun logs the begin of a run and starts its supervisor in a sandbox. Closing the host ends the run.
func (s *Session) StartRun(ctx context.Context, spec ProgramRunSpec) (*ProgramRun, error) {
	m, err := s.host.initRuntime()
	if err != nil {
		return nil, err
	}
	if !s.policy.IsolationOptions().Enabled {
		return nil, fmt.Errorf("%s needs a sandbox; load the configuration with one", spec.Name)
	}
	plugin := s.instanceSpecForRun(spec)
	run := &ProgramRun{Policy: plugin.Policy, session: s, record: audit.Record{
		Time: time.Now().UTC(), Agent: s.policy.AgentID(), Session: s.id, Origin: string(s.origin), Tool: runTool, Args: spec.Args,
		Decision: guard.Allow.String(), Call: s.id + "-run", State: audit.Begun,
	}.RedactedAndShortened()}
	if s.pluginHasUndo(plugin.Policy.Grants, &plugin.Policy.Exec) {
		if err = s.grantPluginUndoStore(plugin); err != nil {
			return nil, err
		}
	}
	cmd := *spec.Supervisor
	if s.policy.IsolationOptions().Network {
		if run.network, err = s.newRunNetwork(spec); err != nil {
			return nil, err
		}
		var env []string
		if env, err = run.network.attachToProfile(&plugin.Profile); err != nil {
			return nil, err
		}
		plugin.Policy.Exec.Env = append(plugin.Policy.Exec.Env, env...)
		run.calls = run.network.watchCall(ctx, s, nil)
	}
	if refused := s.logCallBegin(m.audit, run.record); refused != nil {
		return nil, refused.toError()
	}
	if run.Process, err = m.isolation.Start(&cmd, plugin.Profile); err != nil {
		return nil, errors.Join(err, run.LogRunEnd("", err.Error()))
	}
	return run, nil
}

// runTool is the tool name in the audit entries of runs.
const runTool = "run"

func (r *Result) toError() error {
	if r.Err == nil {
		return nil
	}
	return r.Err
}

// instanceSpecForRun describes the supervisor of a run as an instance of a plugin with the exec grant.
func (s *Session) instanceSpecForRun(spec ProgramRunSpec) *supervise.InstanceSpec {
	grants := pluginpb.Grant{Workspace: pluginpb.ReadWriteWorkspace, Exec: true, Network: s.policy.IsolationOptions().Network, Takeback: true}
	limits := s.policy.CallLimits().Run
	limits.Memory = commandMemoryLimit(limits)
	out := &supervise.InstanceSpec{
		Manifest: &pluginpb.Manifest{ID: spec.Name},
		Policy:   &pluginpolicy.Policy{Agent: s.policy.AgentID(), Guard: s.policy.GuardPolicy(), Grants: grants},
		Profile:  s.newProfile(spec.Name, grants.Workspace, true, spec.UserEnv),
	}
	out.Profile.ReadOnly = append(out.Profile.ReadOnly, spec.ReadOnly...)
	out.Profile.Group = cgroupLimits(limits)
	settings := &out.Policy.Exec
	s.configureCommandSandbox(settings, grants.Workspace, spec.UserEnv)
	settings.ReadOnly = append(settings.ReadOnly, spec.ReadOnly...)
	if git := spec.SharedGit; git != nil {
		out.Profile.ReadWrite, settings.ReadWrite = append(out.Profile.ReadWrite, git.Dir), append(settings.ReadWrite, git.Dir)
		out.Profile.Protect = func() ([]string, error) { return s.readOnlyProtectedPaths(git) }
	}
	settings.Limits = limits
	settings.Env = hostEnvironment(s.policy.CommandEnvNames()...)
	return out
}

// newRunNetwork returns the network of a run: the policy's hosts and those of the specification.
func (s *Session) newRunNetwork(spec ProgramRunSpec) (*sandboxNetwork, error) {
	reached := cmp.Or(s.policy.NetworkRules(), &policy.NetworkRules{})
	reached.Allow = append(reached.Allow, spec.Hosts...)
	if reached.Project != nil && reached.Project.Allow != nil {
		reached.Project.Allow = append(reached.Project.Allow, spec.Hosts...)
	}
	n, err := s.host.openSharedNetwork(s, reached, spec.Name, pluginpb.Grant{}, append(s.policy.PublishedPorts(), spec.Ports...))
	if err != nil {
		return nil, err
	}
	n.secrets = nil
	for _, secret := range spec.Secrets {
		n.secrets = append(n.secrets, egress.Secret{Name: secret.Name, Placeholder: secret.Placeholder, Value: secret.Value,
			Hosts: secret.Hosts, Header: secret.As.Header, Template: secret.As.Value})
	}
	if len(n.secrets) > 0 && n.authority == nil {
		n.authority, err = egress.NewCertificateAuthority()
	}
	return n, err
}

// FetchRunSecrets fetches the operator's secrets with these names for a run.
func (s *Session) FetchRunSecrets(names []string) ([]ProgramRunSecret, error) {
	all := s.policy.Secrets()
	maps.DeleteFunc(all, func(name string, _ config.Secret) bool { return !slices.Contains(names, name) })
	fetched, err := fetchGrantedSecrets(all, names)
	if err != nil {
		return nil, err
	}
	var out []ProgramRunSecret
	for _, one := range fetched {
		out = append(out, ProgramRunSecret{Name: one.Name, Value: one.Value, Secret: all[one.Name]})
	}
	return out, nil
}
