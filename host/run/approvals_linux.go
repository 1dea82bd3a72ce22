package run

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/clienthook"
	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// approvalRequests are the requests that a run filed for approval. After approval, the refused change or call passes when it is repeated.
type approvalRequests struct {
	mu       sync.Mutex
	waiting  map[string]string    // names for the person, by subject
	approved map[string]time.Time // ends of approvals
}

// waitingNames returns the names of the requests that wait for an answer, sorted.
func (r *approvalRequests) waitingNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Values(r.waiting))
}

// isApprovedOrFile reports whether a person's approval for a subject holds. If not, and no request for it waits, it files
// one, and calls onAllow if a person approves.
func (a *activeRun) isApprovedOrFile(ctx context.Context, subject, name string, q session.ApprovalQuestion, onAllow func()) bool {
	r := &a.requests
	r.mu.Lock()
	defer r.mu.Unlock()
	if isApproved := time.Now().Before(r.approved[subject]); isApproved || r.waiting[subject] != "" {
		return isApproved
	}
	if r.waiting == nil {
		r.waiting, r.approved = map[string]string{}, map[string]time.Time{}
	}
	r.waiting[subject] = name
	go func() {
		allowed := a.running.RequestApproval(ctx, q)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, subject)
		if allowed {
			r.approved[subject] = time.Now().Add(wire.ApprovalTime)
			onAllow()
		}
	}()
	return false
}

// requestProtectedFile files an approval request for changes of a protected file.
func (a *activeRun) requestProtectedFile(ctx context.Context, path string) {
	name := path
	if below, ok := paths.RelativeWithin(a.options.Session.Policy().WorkspacePath(), path); ok {
		name = below
	}
	q := session.ApprovalQuestion{Tool: "run", Args: map[string]any{"program": filepath.Base(a.plan.Program), "run": a.plan.id, "change": name}}
	q.Decision = guard.Decision{Verdict: guard.Ask, Rule: "workspace.protect",
		Reason: "the program wants to change " + name + ", which is protected; if you approve, it can for ten minutes"}
	a.isApprovedOrFile(ctx, path, name, q, func() { _ = a.socket.Send(wire.ControlMessage{Approve: path}, nil) })
}

// approveToolCall returns the decision on a call of the program's own tools that needs approval, for a client that can't
// ask its person: it denies, and files a request. After approval, it allows the same call.
func (a *activeRun) approveToolCall(ctx context.Context, call session.ClientToolCall, d guard.Decision) guard.Decision {
	format, err := clienthook.FindFormat(call.Tool[:strings.Index(call.Tool, ".")])
	if err != nil || format.Asks {
		return d
	}
	exact, err := json.Marshal([]any{call.Tool, call.Dir, call.Actions}) // arguments may be shortened
	if err != nil {
		return d
	}
	q := session.ApprovalQuestion{Tool: call.Tool, Args: call.Args, Decision: d}
	if a.isApprovedOrFile(ctx, string(exact), call.Tool, q, func() {}) {
		return guard.Decision{Verdict: guard.Allow, Rule: d.Rule}
	}
	d.Verdict, d.Hint = guard.Deny, "wait until a person has approved it with `picoclaw approvals`, and repeat the same call"
	return d
}
