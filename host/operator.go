package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/run"
	"github.com/picoclaw/picoclaw/host/session"
)

// ConsoleActions executes command-line actions for the console in the current runtime. Without a runtime, as in the
// zero value, the actions fail. It is safe for concurrent use.
type ConsoleActions struct{ current atomic.Pointer[Runtime] }

// SetRuntime sets the runtime in which later actions run.
func (o *ConsoleActions) SetRuntime(a *Runtime) { o.current.Store(a) }

// Undo undoes a change of an agent, as `picoclaw undo` does; of a run, all its changes, as `picoclaw undo --run` does.
func (o *ConsoleActions) Undo(ctx context.Context, agent, id string, dry, force bool) (string, error) {
	a := o.current.Load()
	if a == nil {
		return "", errNotReady
	}
	if r, err := run.FindRecordOfChange(a.config.Home().Path, id); err != nil || r != nil {
		return a.undoRun(ctx, r, err, dry, force)
	}
	s, err := a.OpenSession(agent, session.Console)
	if err != nil {
		return "", err
	}
	return callTool(ctx, s, "undo", map[string]any{"id": id, "dry_run": dry, "force": force})
}

// undoRun undoes all changes of a run, with the project as workspace. A dry run shows the undo of the newest changes.
func (a *Runtime) undoRun(ctx context.Context, r *run.RunRecord, err error, dry, force bool) (string, error) {
	if err != nil {
		return "", err
	}
	home, o := a.config.Home().Path, a.options
	ids, err := r.ListOperationsToUndo(home, force)
	if err != nil {
		return "", err
	}
	if o.Config, err = config.Load(config.LoadOptions{File: a.config.FilePath(), Workspace: r.Project, Agent: r.Agent}); err != nil {
		return "", err
	}
	o.NoBuiltIns, o.Schedules, o.Telemetry = true, nil, a.telemetry
	project, err := OpenRuntime(o)
	if err != nil {
		return "", err
	}
	defer func() { _ = project.Close(context.WithoutCancel(ctx)) }()
	s, err := project.OpenSession(r.Agent, session.Console)
	if err != nil {
		return "", err
	}
	s.UseUndoStore(run.UndoStoreDir(home, r.ID))
	all := fmt.Sprintf("Run %s in %s, %d bursts of changes.\n", r.ID, r.Project, len(ids))
	if dry {
		ids = ids[:1]
	}
	for _, id := range ids {
		text, callErr := callTool(ctx, s, "undo", map[string]any{"id": id, "dry_run": dry, "force": force})
		all, err = all+text+"\n", errors.Join(err, callErr)
	}
	return all, err
}

// callTool calls a tool, and returns its text.
func callTool(ctx context.Context, s *session.Session, tool string, args map[string]any) (string, error) {
	arguments, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	r := s.Call(ctx, tool, arguments, nil)
	if r.Err != nil {
		return r.Text, errors.New(r.Err.AgentText())
	}
	return r.Text, nil
}

// ResultText returns the result of a call as text for people.
func ResultText(r *session.Result) string {
	text := cmp.Or(r.Text, string(r.Structured))
	if r.Err != nil {
		text = strings.TrimLeft(text+"\n\n", "\n") + r.Err.AgentText()
	}
	return text
}
