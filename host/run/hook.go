package run

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/picoclaw/picoclaw/host/run/internal/wire"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// hookDecision is the host's decision for a hook inside the sandbox.
type hookDecision struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
	Hint    string `json:"hint"`
}

// maxHookText limits a call's text that is only logged.
const maxHookText = 4 << 10

// IsInsideRun reports whether this process is a descendant of the program of a run.
func IsInsideRun() bool { return os.Getenv(wire.HookVariable) != "" }

// AskHostForDecision asks the host of this run for the decision on a call of one of the program's own tools.
func AskHostForDecision(call *session.ClientToolCall) (guard.Decision, error) {
	noted := make(map[string]any, len(call.Args))
	for name, value := range call.Args {
		if text, ok := value.(string); ok && len(text) > maxHookText {
			value = text[:maxHookText] + "…"
		}
		noted[name] = value
	}
	small := *call
	small.Args = noted
	return askSupervisor(small)
}

// EndTurn tells the supervisor of this run that the client's turn has ended. It returns when the burst of changes has
// ended.
func EndTurn() error {
	_, err := askSupervisor(json.RawMessage(wire.TurnEnded))
	return err
}

// askSupervisor sends the run's supervisor a question, and returns the decision.
func askSupervisor(question any) (guard.Decision, error) {
	conn, err := net.Dial("unix", os.Getenv(wire.HookVariable))
	if err != nil {
		return guard.Decision{}, fmt.Errorf("reach the run's supervisor: %w", err)
	}
	defer func() { _ = conn.Close() }()
	var answer hookDecision
	if err = json.NewEncoder(conn).Encode(question); err == nil {
		err = json.NewDecoder(conn).Decode(&answer)
	}
	if err != nil {
		return guard.Decision{}, fmt.Errorf("ask the run's supervisor: %w", err)
	}
	d := guard.Decision{Verdict: guard.Deny, Rule: answer.Rule, Reason: answer.Reason, Hint: answer.Hint}
	switch answer.Verdict {
	case guard.Allow.String():
		d.Verdict = guard.Allow
	case guard.Ask.String():
		d.Verdict = guard.Ask
	}
	return d, nil
}
