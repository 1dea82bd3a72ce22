package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/filelock"
)

// RunProgram runs a program until it ends, with the standard streams in o. It returns an error if the program can't be
// started, and ctx's cause if ctx is cancelled.
func RunProgram(ctx context.Context, o Options, p *RunPlan) (*RunResult, error) {
	if p.Missing != nil {
		return nil, p.Missing
	}
	policy := o.Session.Policy()
	if err := prepareProgramHome(p.Home, p.variables, p.Preset); err != nil {
		return nil, fmt.Errorf("prepare the program's home: %w", err)
	}
	record := &RunRecord{ID: p.id, Agent: policy.AgentID(), Project: policy.WorkspacePath(), Program: o.Program, PID: os.Getpid(), Started: time.Now().UTC()}
	if err := record.saveRecord(policy.HomePath()); err != nil {
		return nil, fmt.Errorf("note the run: %w", err)
	}
	lock, err := record.lockRun(policy.HomePath(), filelock.LockWaiting)
	if err != nil {
		return nil, fmt.Errorf("lock the run: %w", err)
	}
	defer func() { _ = lock.Close() }()
	if err = pruneRuns(policy.HomePath(), policy.UndoLimits().MaxAge); err != nil {
		return nil, fmt.Errorf("forget old runs: %w", err)
	}
	if p.SharedGit != nil {
		if err = copyGitState(p.SharedGit, gitStateDir(policy.HomePath(), p.id)); err != nil {
			return nil, fmt.Errorf("copy the git directory's refs: %w", err)
		}
	}
	o.Session.UseUndoStore(UndoStoreDir(policy.HomePath(), p.id))
	a := &activeRun{options: o, plan: p, record: record}
	result, err := a.runProgram(ctx)
	record.Ended, record.Code = time.Now().UTC(), 1
	if result != nil {
		record.Code, record.Undo = result.Code, result.Changes.ID
	}
	return result, errors.Join(err, record.saveRecord(policy.HomePath()))
}

// activeRun is a run whose program has not ended.
type activeRun struct {
	options  Options
	plan     *RunPlan
	record   *RunRecord
	socket   wire.MessageConn
	running  *session.ProgramRun
	terminal *os.File       // the person's; nil for none
	leads    [3]bool        // which of the standard streams are terminals
	relay    *terminalRelay // nil without a terminal
	shown    string         // warning in the title
	requests approvalRequests
	tools    *session.ClientToolGuard
	asked    atomic.Int64 // calls that the program's hook asked about
}

func (a *activeRun) runProgram(ctx context.Context) (*RunResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends requests for approval
	socket, theirs, err := wire.NewSocketPair()
	if err != nil {
		return nil, err
	}
	a.socket = socket
	defer func() { _ = socket.Close() }()
	a.terminal, a.leads = findTerminal(a.options.Streams)
	cmd := exec.Command(a.options.Supervisor[0], a.options.Supervisor[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = a.options.Dir
	streams := a.options.Streams
	for i, isTerminal := range a.leads {
		if isTerminal {
			streams[i] = nil // the relay replaces it
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams[0], streams[1], streams[2]
	cmd.ExtraFiles = []*os.File{theirs}
	program := slices.Concat([]string{a.plan.Program}, a.plan.Args)
	a.running, err = a.options.Session.StartRun(ctx, session.ProgramRunSpec{
		Name: "run", Supervisor: cmd, UserEnv: filepath.Base(a.plan.Home), SharedGit: a.plan.SharedGit, Hosts: a.plan.Hosts, Ports: a.plan.Ports, Secrets: a.plan.Secrets,
		ReadOnly: append(slices.Clone(a.plan.ReadOnly), a.options.Supervisor[0]),
		Args:     map[string]any{"program": program, "dir": a.options.Dir, "run": a.plan.id},
	})
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	defer a.running.Kill()
	if a.tools, err = a.newClientToolGuard(); err != nil {
		return nil, errors.Join(err, a.running.LogRunEnd("", err.Error()))
	}
	start := wire.StartMessage{Policy: a.running.Policy, Program: program, Env: a.plan.Env, Dir: a.options.Dir, Streams: a.leads, SharedGit: a.plan.SharedGit,
		Summary: "run: " + strings.Join(a.options.Program, " ")}
	if a.terminal != nil {
		start.Terminal = new(terminalSize(a.terminal))
	}
	ended, err := a.startAndFollowProgram(ctx, start)
	if err != nil {
		return nil, errors.Join(err, a.running.LogRunEnd("", err.Error()))
	}
	_, refused := a.running.Hosts()
	out := &RunResult{ID: a.plan.id, Code: ended.Code, Exceeded: ended.Exceeded, Changes: ended.Changes, Refused: ended.Refused,
		Found: ended.Found, NoHistory: ended.NoHistory, Network: refused, Asked: int(a.asked.Load())}
	failure := ""
	if ended.Code != 0 {
		failure = fmt.Sprintf("exit status %d", ended.Code)
	}
	return out, a.running.LogRunEnd(ended.Changes.ID, failure)
}
