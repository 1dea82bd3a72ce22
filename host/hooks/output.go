package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// commandOutput is the JSON output of a command hook. Duplicate names are an error. Otherwise an agent's text could add
// a second, different decision to the output of a script that inserts the text into JSON.
type commandOutput struct {
	Continue       *bool  `json:"continue"`
	StopReason     string `json:"stopReason"`
	SystemMessage  string `json:"systemMessage"`
	SuppressOutput bool   `json:"suppressOutput"`
	Decision       string `json:"decision"`
	Reason         string `json:"reason"`
	Specific       struct {
		Event    HookEvent      `json:"hookEventName"`
		Decision string         `json:"permissionDecision"`
		Reason   string         `json:"permissionDecisionReason"`
		Input    jsontext.Value `json:"updatedInput"`
		Context  string         `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// parseCommandOutput parses the standard output of a command hook that exited with 0.
func parseCommandOutput(e HookEvent, stdout []byte) (hookResponse, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(stdout), []byte("\xef\xbb\xbf"))) // trim a byte order mark
	if len(text) == 0 {
		return hookResponse{}, nil
	}
	if text[0] != '{' {
		return parsePlainText(e, text)
	}
	var s commandOutput
	if err := jsonx.Unmarshal(text, &s); err != nil {
		return hookResponse{}, fmt.Errorf("wrote invalid JSON: %w", err)
	}
	if s.Specific.Event != "" && s.Specific.Event != e {
		return hookResponse{}, fmt.Errorf("responds to %s instead of %s", s.Specific.Event, e)
	}
	a := hookResponse{context: s.Specific.Context}
	if err := a.addDecision(s.Decision, s.Reason); err != nil {
		return hookResponse{}, err
	}
	if err := a.addDecision(s.Specific.Decision, s.Specific.Reason); err != nil {
		return hookResponse{}, err
	}
	if s.Continue != nil && !*s.Continue {
		a.stop, a.decision = true, deny
		a.reason = cmp.Or(strings.TrimSpace(s.StopReason), a.reason)
	}
	if input := s.Specific.Input; len(input) > 0 && input.Kind() != 'n' {
		if input.Kind() != '{' {
			return hookResponse{}, errors.New("has an updatedInput that is not an object")
		}
		a.args = json.RawMessage(input)
	}
	return a, nil
}

// parsePlainText parses output that is not a JSON object. For SessionStart and UserPromptSubmit, the text is context.
// For events that can't be refused, it is ignored, since formatters print text. In all other cases, and around JSON,
// text is an error, because it may hide a refusal.
func parsePlainText(e HookEvent, text []byte) (hookResponse, error) {
	switch {
	case e != SessionStart && !e.hooksCanRefuse():
		return hookResponse{}, nil
	case e == PreToolUse, json.Valid(text),
		slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
			return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{"))
		}):
		return hookResponse{}, errors.New("wrote something other than a JSON object")
	}
	return hookResponse{context: string(text)}, nil
}

// addDecision merges a decision, allow, ask or deny, into the response. "allow" changes nothing.
func (a *hookResponse) addDecision(word, reason string) error {
	d := none
	switch word {
	case "", "approve", "allow":
	case "ask":
		d = ask
	case "block", "deny":
		d = deny
	default:
		return fmt.Errorf("has the decision %q, which is not known", word)
	}
	if d > a.decision {
		a.decision, a.reason = d, reason
	} else if a.reason == "" {
		a.reason = reason
	}
	return nil
}
