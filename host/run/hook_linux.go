package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/clienthook"
	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// newClientToolGuard returns the guard that decides on calls of the program's own tools.
func (a *activeRun) newClientToolGuard() (*session.ClientToolGuard, error) {
	home := a.plan.Home
	return a.options.Session.NewClientToolGuard(session.ClientToolGuardOptions{
		Sandboxed: true, Undo: a.running.Policy.Undo.Dir != "", Home: home,
		ReadOnly: slices.Concat(systemDirs, []string{"/etc"}, a.plan.ReadOnly), ReadWrite: isolation.PrivateDirs(),
		Env: map[string]string{"HOME": home},
	})
}

// answerHook decides on a call that the program's hook asks about, and sends the answer.
func (a *activeRun) answerHook(ctx context.Context, question *wire.HookMessage) {
	answer := hookDecision{Verdict: guard.Deny.String(), Rule: "hook", Reason: "the hook's question is no call"}
	var call session.ClientToolCall
	if json.Unmarshal(question.Data, &call) == nil && isClientToolName(call.Tool) {
		deciding, cancel := context.WithTimeout(ctx, hookTimeout)
		defer cancel()
		d := a.tools.Decide(deciding, call)
		if d.Verdict == guard.Ask {
			d = a.approveToolCall(ctx, call, d)
		}
		answer = hookDecision{Verdict: d.Verdict.String(), Rule: d.Rule, Reason: d.Reason, Hint: d.Hint}
	}
	if text, err := json.Marshal(answer); err == nil {
		_ = a.socket.Send(wire.ControlMessage{Hook: &wire.HookMessage{ID: question.ID, Data: text}}, nil)
	}
}

// isClientToolName reports whether a name may be a tool of a client. Any program in the sandbox can ask, and its log
// entries must not look like calls of picoclaw's tools.
func isClientToolName(name string) bool {
	client, tool, ok := strings.Cut(name, ".")
	return ok && tool != "" && len(name) <= maxToolName && slices.Contains(clienthook.ClientNames(), client)
}

const maxToolName = 200

// hookTimeout limits a decision. Clients continue without the answer of a slow hook.
const hookTimeout = 20 * time.Second
