package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/takeback"
)

type historyInput struct {
	Limit int `json:"limit,omitempty" jsonschema:"How many operations, from the last" default:"20" minimum:"1" maximum:"1000"`
}

type historyOutput struct {
	Operations []operation `json:"operations"`
	More       bool        `json:"more,omitempty" jsonschema:"There are older ones"`
}

// operation is one thing that was done, as the agent reads it.
type operation struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Tool    string `json:"tool"`
	Summary string `json:"summary"`
	Undone  bool   `json:"undone,omitempty"`
	Undoes  string `json:"undoes,omitempty"`
	Missing string `json:"cannot_undo,omitempty" jsonschema:"Why it can't be undone"`

	Changes    *takeback.Changes `json:"changes,omitempty" jsonschema:"What a command has changed"`
	NotCovered []string          `json:"not_covered,omitempty" jsonschema:"What undo does not bring back"`
}

// Text is a line for each, the last first.
func (o historyOutput) Text() string {
	if len(o.Operations) == 0 {
		return "nothing was changed yet that could be undone"
	}
	var b strings.Builder
	for _, op := range o.Operations {
		fmt.Fprintf(&b, "%s  %s  %s", op.ID, op.Time, shown(op.Summary))
		switch {
		case op.Undone:
			b.WriteString("  (undone)")
		case op.Missing != "":
			fmt.Fprintf(&b, "  (can't be undone: %s)", shown(op.Missing))
		}
		for _, lost := range op.NotCovered {
			fmt.Fprintf(&b, "\n    not covered: %s", shown(lost))
		}
		b.WriteByte('\n')
	}
	if o.More {
		b.WriteString("[there are older ones; ask for a higher limit]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func history(m *memory) sdk.Tool {
	return sdk.NewTool("history", "List what was changed in files, the last change first. Each can be taken back with undo.",
		func(_ context.Context, req *sdk.Request[historyInput]) (historyOutput, error) {
			if err := m.ready(&req.Environment); err != nil {
				return historyOutput{}, err
			}
			limit := req.Args.Limit
			if limit == 0 {
				limit = 20
			}
			out := historyOutput{Operations: []operation{}}
			undone := map[string]bool{}
			err := m.store.Each(func(op *takeback.Op) bool {
				if op.Undoes != "" && !undone[op.ID] {
					undone[op.Undoes] = true
				}
				missing := op.Missing
				if strayed(&req.Environment, op) != "" {
					missing = leadsOut
				} else if !permitted(&req.Environment, op) {
					return true
				}
				if len(out.Operations) == limit {
					out.More = true
					return false
				}
				out.Operations = append(out.Operations, operation{
					ID: op.ID, Time: op.Time.Local().Format(time.DateTime), Tool: op.Tool, Summary: op.Summary,
					Undone: undone[op.ID], Undoes: op.Undoes, Missing: missing, Changes: op.Changes, NotCovered: op.Lost,
				})
				return true
			})
			return out, err
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{picoclawSet, moduleSet},
			Permissions: []string{"fs.list"}, Risk: "low",
		})
}

// ready opens the memory for a tool that is about the journal.
func (m *memory) ready(env *sdk.Environment) error {
	if err := m.open(env); err != nil {
		return err
	}
	if m.store == nil {
		return sdk.Errorf(sdk.Conflict, "nothing is kept of what changes destroy, so nothing can be undone").
			WithHint("tools.undo.enabled and plugins.filesystem.grants.takeback switch it on")
	}
	return nil
}

// leadsOut is why what strayed can't be undone.
const leadsOut = "its place leads out of the workspace now"

// strayed returns the path of an operation that was in the workspace and leads out of it now, by a link that somebody
// has put in its way; "" if there is none. It is the agent's all the same: an older operation must not be taken for its
// last.
func strayed(env *sdk.Environment, op *takeback.Op) string {
	for _, step := range op.Steps {
		if step.Action == takeback.Tidy {
			continue // above another
		}
		for _, path := range []string{step.Path, step.From} {
			if path != "" && !readable(env, path) && decided(env, op, path).Rule == "workspace.symlink" {
				return path
			}
		}
	}
	return ""
}

// permitted reports whether the policy opens what an operation was about: an agent whose policy was narrowed since, or
// a child of it, has no business with the rest.
func permitted(env *sdk.Environment, op *takeback.Op) bool {
	if op.Changes != nil {
		for _, path := range op.Changes.Names {
			if !restorable(env, path) {
				return false
			}
		}
	}
	for _, step := range op.Steps {
		if step.Action == takeback.Tidy {
			continue // above another
		}
		for _, path := range []string{step.Path, step.From} {
			if path != "" && !readable(env, path) && decided(env, op, path).Verdict != guard.Allow {
				return false
			}
		}
	}
	return true
}

// restorable reports whether what a command has changed at a path may be put back. What is protected inside the
// workspace is: a command changes it only if a person agrees, or in a repository that it makes. Below a link that leads
// out, or a directory that is closed, which the command may have put there, these count: they are taken away or opened
// first, and nothing is opened through a link.
func restorable(env *sdk.Environment, path string) bool {
	for at := path; at != env.Workspace.Dir(); at = filepath.Dir(at) {
		switch d := env.Guard.Path(guard.Delete, at); {
		case d.Verdict == guard.Allow, d.Rule == guard.RuleProtect:
			return true
		case d.Rule != guard.RuleSymlink && d.Rule != guard.RuleUnresolved:
			return false
		}
	}
	return true
}

// decided is what the policy says of putting something back at a path. A link is put back, or taken away, itself: where
// it points to is no matter.
func decided(env *sdk.Environment, op *takeback.Op, path string) guard.Decision {
	access := guard.Write
	for _, step := range op.Steps {
		if (step.Path == path || step.From == path) && (step.Before == stateLink || step.After == stateLink) {
			access = guard.Delete
		}
	}
	return env.Guard.Path(access, path)
}
