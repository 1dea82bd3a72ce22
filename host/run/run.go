// Package run starts a whole program, such as an agent with tools of its own, in a sandbox with an agent's rights to
// one project. It relays the person's terminal, and remembers each run with its undo history.
//
// The sandbox, the network and the policy are those of host/session. The process inside the sandbox is package
// supervisor. This package must not decide what a policy allows.
package run

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/internal/protect"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// Options describe the program and the project of a run.
type Options struct {
	Session  *session.Session // of an agent whose workspace is the project
	UserHome string           // the person's home directory
	Dir      string           // current directory, in the project
	Program  []string         // name or path, and arguments
	Hosts    []string         // hosts that the person allows for this run
	Ports    []uint16         // of the program's servers that this machine reaches
	Env      map[string]string
	// Supervisor is this program with the argument that starts [supervisor.Main].
	Supervisor []string
	Streams    [3]*os.File
}

// RunPlan describes the program that a run will start, and its access.
type RunPlan struct {
	Preset   *ProgramPreset
	Program  string // path; empty if it is not installed
	Missing  error  // why there is none
	Args     []string
	Home     string
	ReadOnly []string
	Hosts    []string
	Ports    []uint16
	Secrets  []session.ProgramRunSecret
	Env      map[string]string

	SharedGit *protect.SharedGitDir // git directory outside the project; nil for none

	id        string
	variables presetVariables
}

// RunResult says how a run ended.
type RunResult struct {
	ID        string
	Code      int
	Exceeded  string // the limit that the program was ended for
	Changes   undo.RecordingResult
	Refused   []string // changes of protected files
	Found     []string // protected files that it or others changed
	Network   []string // refused connections
	NoHistory string   // why nothing was recorded
	Asked     int      // calls of its own tools that the program's hook asked about
}

// NewPlan returns the plan of a run. It starts nothing, and writes only the key for placeholders.
func NewPlan(o Options) (*RunPlan, error) {
	policy := o.Session.Policy()
	preset, err := FindPreset(o.Program[0])
	if err != nil {
		return nil, err
	}
	p := &RunPlan{Preset: preset, id: newRunID(time.Now())}
	var needs []string
	if p.Program, needs, p.Missing = findProgram(o.Program[0], o.Dir, o.UserHome); p.Missing != nil && preset.Name == "generic" {
		return nil, p.Missing
	}
	if p.SharedGit, err = protect.FindSharedGitDir(policy.WorkspacePath()); err == nil && p.SharedGit != nil {
		err = CheckProjectDir(p.SharedGit.Dir, o.UserHome, policy.HomePath())
	}
	if err != nil {
		return nil, fmt.Errorf("the git directory of the project: %w", err)
	}
	tools, toolEnv, err := toolDirs(o.UserHome)
	if err != nil {
		return nil, err
	}
	if err = os.MkdirAll(runsDir(policy.HomePath()), 0o700); err != nil {
		return nil, err
	}
	p.variables = presetVariables{policy.WorkspacePath(), preset.hookCommand(o.Supervisor[0])}
	p.Args = preset.programArguments(o.Program[1:], p.variables)
	p.Home = isolation.UserEnvDir(policy.HomePath(), programHomeName(o.Program[0], policy.WorkspacePath()))
	p.ReadOnly = slices.Concat(paths.ExistingReal(preset.ReadOnly), tools, needs, preset.guidanceFiles(policy.WorkspacePath()))
	p.Hosts, p.Ports = slices.Concat(preset.hostNames(), o.Hosts), o.Ports
	_, err = os.Lstat(filepath.Join(p.Home, preset.Login.File))
	switch {
	case policy.IsolationOptions().Network && errors.Is(err, fs.ErrNotExist):
		p.Ports = slices.Concat(p.Ports, preset.Login.Ports)
	case len(p.Ports) > 0 && !policy.IsolationOptions().Network:
		return nil, errors.New("--port: the program has no network; set isolation.network to true")
	}
	if p.Secrets, err = presetAPIKeys(o.Session, preset, policy.HomePath()); err != nil {
		return nil, err
	}
	p.Env = programEnvironment(toolEnv, preset.Env, p.gitEnvironment(), o.Env)
	for _, secret := range p.Secrets {
		p.Env[secret.Name] = secret.Placeholder
	}
	return p, nil
}

// gitEnvironment turns off garbage collection of a shared git directory, where a run must not delete objects, besides
// rerere, as for all commands.
func (p *RunPlan) gitEnvironment() map[string]string {
	if p.SharedGit == nil {
		return nil
	}
	return map[string]string{"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "gc.auto", "GIT_CONFIG_VALUE_1": "0"}
}

// passedVariables are the person's environment variables that a program on the person's terminal needs.
var passedVariables = []string{"TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "LANG", "LANGUAGE", "TZ", "SHELL", "EDITOR",
	"NO_COLOR", "FORCE_COLOR", "CI"}

// programEnvironment returns the program's environment without PATH and HOME: passedVariables, and then the layers.
func programEnvironment(layers ...map[string]string) map[string]string {
	env := map[string]string{"TMPDIR": "/tmp"} // short enough for sockets
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(passedVariables, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	for _, layer := range layers {
		maps.Copy(env, layer)
	}
	return env
}
