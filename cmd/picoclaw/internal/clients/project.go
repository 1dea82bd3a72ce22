package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tailscale/hujson"
)

// projectList is a list in the settings that a client keeps in a project.
type projectList struct {
	file string // relative to the project
	keys []string
}

// errNoSetting says that a client has no setting for something.
var errNoSetting = errors.New("there is no setting for it")

// PlanGuard plans the hook by which the client asks a command before each call of its own tools in a project.
func (c Client) PlanGuard(project, command string) (*Change, error) {
	if c.hooks.file == "" {
		return nil, fmt.Errorf("%s: %w; `picoclaw run -- PROGRAM` confines it with all its tools", c.Title, errNoSetting)
	}
	hook := map[string]any{"type": "command", "command": command, "timeout": c.hookTimeout}
	if c.ID == "gemini" {
		hook["name"] = "picoclaw"
	}
	return c.hooks.plan(project, map[string]any{"matcher": c.hookMatcher, "hooks": []any{hook}})
}

// PlanDenial plans the settings that deny the client its own tools for commands and files in a project.
func (c Client) PlanDenial(project string) (*Change, error) {
	if c.denied.file == "" {
		return nil, fmt.Errorf("%s: %w; its own tools stay beside picoclaw's", c.Title, errNoSetting)
	}
	return c.denied.plan(project, c.ownTools...)
}

// HasDenial reports whether [Client.PlanDenial] works.
func (c Client) HasDenial() bool { return c.denied.file != "" }

func (l projectList) plan(project string, values ...any) (*Change, error) {
	change, err := readTarget(filepath.Join(project, l.file))
	if err != nil {
		return nil, err
	}
	if change.after, err = addToJSONList(change.before, l.keys, values); err != nil {
		return nil, fmt.Errorf("%s: %w", change.Path, err)
	}
	return change, nil
}

// addToJSONList appends values to a list, except those that are in it.
func addToJSONList(text []byte, where []string, values []any) ([]byte, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	body, marked := bytes.CutPrefix(text, bom)
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}\n")
	}
	list, err := readJSONList(body, where)
	if err != nil {
		return nil, err
	}
	for _, value := range values {
		if list, err = appendNew(list, value); err != nil {
			return nil, err
		}
	}
	if body, err = setJSON(body, where, list); err == nil && marked {
		body = append(append([]byte{}, bom...), body...)
	}
	return body, err
}

func appendNew(list []any, value any) ([]any, error) {
	want, err := json.Marshal(value)
	for _, one := range list {
		if have, failed := json.Marshal(one); failed == nil && bytes.Equal(have, want) {
			return list, err
		}
	}
	return append(list, value), err
}

// readJSONList returns the list at a place; nil if nothing is there.
func readJSONList(text []byte, where []string) (list []any, err error) {
	if err = checkNesting(text); err != nil {
		return nil, err
	}
	standard, err := hujson.Standardize(append(text[:len(text):len(text)], '\n'))
	if err != nil {
		return nil, fmt.Errorf("the file is not JSON: %w; %w", err, errNotEditable)
	}
	at := json.RawMessage(standard)
	for i, name := range where {
		var object map[string]json.RawMessage
		if json.Unmarshal(at, &object) != nil {
			return nil, fmt.Errorf("%s is not an object; %w", orRoot(where[:i]), errNotEditable)
		}
		if object[name] == nil {
			return nil, nil
		}
		at = object[name]
	}
	if json.Unmarshal(at, &list) != nil {
		return nil, fmt.Errorf("%s is not a list; %w", orRoot(where), errNotEditable)
	}
	return list, nil
}
