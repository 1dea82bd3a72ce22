// Package run has the command run, which runs a whole program in the sandbox.
package run

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/internal/terminal"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/run/supervisor"
	"github.com/picoclaw/picoclaw/host/session"
)

// Options are the options of `picoclaw run`.
type Options struct {
	*cli.Factory
	agent, project string
	workTree       string // name; empty for none
	hosts          []string
	ports          []uint
	env            []string
	show           bool
	program        []string
}

func NewCmdRun(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f}
	cmd := &cobra.Command{
		Use:        "run [flags] -- PROGRAM [ARGUMENT...]",
		SuggestFor: []string{"sandbox", "shell"},
		Short:      "Run your own agent, or any program, confined to this project",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageErrorf("name the program to run, as in `picoclaw run -- claude`")
			}
			o.program = args
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the program is its own
	flags.StringVar(&o.project, "project", "", "the `directory` that the program may change")
	flags.StringVar(&o.workTree, "worktree", "", "run in the git work tree with this `name`, beside the project; create it if missing")
	flags.StringArrayVar(&o.hosts, "allow", nil, "a `host` that the program may reach, as in network.allow; may be repeated")
	flags.UintSliceVar(&o.ports, "port", nil, "a `port` of this machine that leads to the program's server at the same port; may be repeated")
	flags.StringArrayVar(&o.env, "env", nil, "a `NAME=VALUE` for the program's environment; may be repeated")
	flags.BoolVar(&o.show, "show", false, "show the program's access; start nothing")
	o.AddAgentFlag(cmd, &o.agent, "the agent whose policy holds (default: the first one)")
	cmd.AddCommand(NewCmdAllow(f, nil))
	return cli.SetRunContext(cmd, o, (*Options).runProgram, runF)
}

// runProgram runs the program in the sandbox and prints a summary.
func (o *Options) runProgram(ctx context.Context) error {
	if o.show && o.workTree != "" {
		return cli.UsageErrorf("--show creates no work tree; use it in the directory of the work tree")
	}
	userHome, _ := os.UserHomeDir()
	home, project, dir, err := findProject(o.Factory, o.project)
	if err == nil && o.workTree != "" {
		if project, dir, err = o.openWorkTree(project, dir); err == nil {
			err = run.CheckProjectDir(project, userHome, home)
		}
		err = cli.FailedError(err)
	}
	if err != nil {
		return err
	}
	env, err := parseEnvFlags(o.env)
	if err != nil {
		return err
	}
	ports, err := parsePortFlags(o.ports)
	if err != nil {
		return err
	}
	settings, notice, err := run.LoadTrustedProject(home, project)
	if err != nil {
		return cli.StartError(err)
	}
	if notice != "" {
		fmt.Fprintln(o.Err, "picoclaw:", terminal.CleanLine(notice))
	}
	o.project, o.Workspace, o.Isolated, o.Project = project, project, true, settings
	s, h, done, err := hosts.OpenSession(o.Factory, o.agent, session.Program)
	if err != nil {
		return err
	}
	defer done()
	self, err := os.Executable()
	if err != nil {
		return cli.StartError(err)
	}
	options := run.Options{Session: s, UserHome: userHome, Dir: dir, Program: o.program, Hosts: o.hosts, Ports: ports, Env: env,
		Supervisor: []string{self, supervisor.Command}, Streams: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}
	plan, err := run.NewPlan(options)
	if err != nil {
		return cli.FailedError(err)
	}
	if o.show {
		return o.printPlan(s, plan)
	}
	if err = h.PrepareForCalls(); err != nil {
		return cli.StartError(err)
	}
	ctx, release := h.WithAgentStop(context.WithoutCancel(ctx), s.Policy().AgentID())
	defer release()
	result, err := run.RunProgram(ctx, options, plan)
	if result == nil {
		return cli.FailedError(err)
	}
	o.printSummary(plan.Preset, result, err)
	if result.Code == 0 {
		return nil
	}
	return &cli.ExitError{Code: result.Code, Err: cli.ErrReported}
}

// openWorkTree returns the work tree in which the program runs, and the directory in it that corresponds to dir.
func (o *Options) openWorkTree(project, dir string) (string, string, error) {
	tree, err := run.AddWorkTree(project, o.workTree)
	if err != nil {
		return "", "", err
	}
	inner := filepath.Join(tree, strings.TrimPrefix(dir, project))
	if info, err := os.Stat(inner); err != nil || !info.IsDir() {
		inner = tree
	}
	return run.FindProjectDir(tree, inner)
}

func parsePortFlags(numbers []uint) (ports []uint16, err error) {
	for _, port := range numbers {
		if port == 0 || port > math.MaxUint16 {
			return nil, cli.UsageErrorf("--port %d: want a number from 1 to %d", port, math.MaxUint16)
		}
		ports = append(ports, uint16(port))
	}
	return ports, nil
}

func parseEnvFlags(entries []string) (map[string]string, error) {
	env := map[string]string{}
	for _, entry := range entries {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, cli.UsageErrorf("--env %s: want NAME=VALUE", entry)
		}
		env[name] = value
	}
	return env, nil
}

// printSummary prints failures and, if standard error is a terminal, the program's changes and refused accesses.
func (o *Options) printSummary(preset *run.ProgramPreset, r *run.RunResult, failure error) {
	out := terminal.NewWriter(o.Err)
	if failure != nil {
		fmt.Fprintln(o.Err, "picoclaw:", failure)
	}
	if r.Exceeded != "" {
		fmt.Fprintf(o.Err, "picoclaw: the program was ended: it used %s\n", r.Exceeded)
	}
	if !out.IsTerminal() {
		return
	}
	say := func(format string, args ...any) {
		fmt.Fprintln(o.Err, out.Paint(terminal.Faint, "picoclaw: "+terminal.CleanLine(fmt.Sprintf(format, args...))))
	}
	switch c := r.Changes.Changes; {
	case r.NoHistory != "":
		say("changes were not recorded: %s", r.NoHistory)
	case r.Changes.Missing != "":
		say("the changes can't be undone: %s", r.Changes.Missing)
	case c.Total() > 0:
		say("%d files created, %d modified, %d moved, %d deleted; `picoclaw undo --run` restores them", c.Made, c.Changed, c.Moved, c.Deleted)
	}
	if o.workTree != "" {
		say("the work tree %s has the changes; `git merge %s` merges its branch, `git worktree remove` deletes it", o.project, o.workTree)
	}
	for _, lost := range r.Changes.Lost {
		say("not covered by undo: %s", lost)
	}
	for _, reason := range r.Refused {
		say("not changed: %s (workspace.protect)", reason)
	}
	for _, path := range r.Found {
		say("warning: protected file %s changed during the run, by the program or by others", path)
	}
	if preset.Hook && r.Asked == 0 && r.Changes.Changes.Total() > 0 {
		say("%s changed files without its hook, so the guard did not decide and the audit log has no entries", preset.Name)
	}
	for _, reason := range r.Network {
		say("%s", reason)
	}
	if len(r.Network) > 0 {
		say("--allow HOST allows a host for a run, `picoclaw run allow %s HOST` during it, network.allow for all", r.ID)
	}
}
