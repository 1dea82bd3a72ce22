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

// said is what a command of Claude Code's form writes. A name that is there twice is an error: a script that puts its
// answer together from what an agent wrote could be made to say the second.
type said struct {
	Continue       *bool  `json:"continue"`
	StopReason     string `json:"stopReason"`
	SystemMessage  string `json:"systemMessage"`
	SuppressOutput bool   `json:"suppressOutput"`
	Decision       string `json:"decision"`
	Reason         string `json:"reason"`
	Specific       struct {
		Event    Event          `json:"hookEventName"`
		Decision string         `json:"permissionDecision"`
		Reason   string         `json:"permissionDecisionReason"`
		Input    jsontext.Value `json:"updatedInput"`
		Context  string         `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// parse reads what a command has written and exited with 0 after.
func parse(e Event, stdout []byte) (answer, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(stdout), []byte("\xef\xbb\xbf"))) // some write JSON with a mark
	if len(text) == 0 {
		return answer{}, nil
	}
	if text[0] != '{' {
		return plain(e, text)
	}
	var s said
	if err := jsonx.Unmarshal(text, &s); err != nil {
		return answer{}, fmt.Errorf("wrote what is not its JSON: %w", err)
	}
	if s.Specific.Event != "" && s.Specific.Event != e {
		return answer{}, fmt.Errorf("answers for %s and was asked about %s", s.Specific.Event, e)
	}
	a := answer{context: s.Specific.Context}
	if err := a.decide(s.Decision, s.Reason); err != nil {
		return answer{}, err
	}
	if err := a.decide(s.Specific.Decision, s.Specific.Reason); err != nil {
		return answer{}, err
	}
	if s.Continue != nil && !*s.Continue {
		a.stop, a.decision = true, deny
		a.reason = cmp.Or(strings.TrimSpace(s.StopReason), a.reason)
	}
	if input := s.Specific.Input; len(input) > 0 && input.Kind() != 'n' {
		if input.Kind() != '{' {
			return answer{}, errors.New("has an updatedInput that is no object")
		}
		a.args = json.RawMessage(input)
	}
	return a, nil
}

// plain reads an answer that is no JSON object. Text is context where a prompt begins something, and means nothing where
// a hook can't refuse, as formatters print; but text around JSON may hide a refusal.
func plain(e Event, text []byte) (answer, error) {
	switch {
	case e != SessionStart && !e.gates():
		return answer{}, nil
	case e == PreToolUse, json.Valid(text),
		slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool {
			return bytes.HasPrefix(bytes.TrimSpace(line), []byte("{"))
		}):
		return answer{}, errors.New("wrote what is no JSON object")
	}
	return answer{context: string(text)}, nil
}

// decide adds a decision in one of its two forms. What allows says nothing.
func (a *answer) decide(word, reason string) error {
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
