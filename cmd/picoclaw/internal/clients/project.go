package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tailscale/hujson"
)

// listSettingLocation is the location of a list in the settings that a client keeps in each project.
type listSettingLocation struct {
	file string // relative to the project
	keys []string
}

// errNoSetting is the cause of errors about a client without the needed setting.
var errNoSetting = errors.New("it has no such setting")

// PlanHook plans to add a hook to a project's settings: the client runs command before each call of its own tools.
func (c ClientProgram) PlanHook(project, command string) (*FileChange, error) {
	if c.hooks.file == "" {
		return nil, fmt.Errorf("%s: %w; `picoclaw run -- PROGRAM` confines it with all its tools", c.Title, errNoSetting)
	}
	hook := map[string]any{"type": "command", "command": command, "timeout": c.hookTimeout}
	if c.ID == "gemini" {
		hook["name"] = "picoclaw"
	}
	return c.hooks.planAppend(project, map[string]any{"matcher": c.hookMatcher, "hooks": []any{hook}})
}

// PlanToolDenial plans to add the client's own tools for commands and files to the denied tools of a project.
func (c ClientProgram) PlanToolDenial(project string) (*FileChange, error) {
	if c.denied.file == "" {
		return nil, fmt.Errorf("%s: %w; its own tools remain enabled", c.Title, errNoSetting)
	}
	return c.denied.planAppend(project, c.ownTools...)
}

// CanDenyTools reports whether the client has a setting for [Client.PlanToolDenial].
func (c ClientProgram) CanDenyTools() bool { return c.denied.file != "" }

// planAppend plans to append values to the list.
func (l listSettingLocation) planAppend(project string, values ...any) (*FileChange, error) {
	change, err := newFileChange(filepath.Join(project, l.file))
	if err != nil {
		return nil, err
	}
	if change.after, err = appendToJSONList(change.before, l.keys, values); err != nil {
		return nil, fmt.Errorf("%s: %w", change.Path, err)
	}
	return change, nil
}

// appendToJSONList returns the text of a file with values appended to the list at a key, except those already in it.
func appendToJSONList(text []byte, where []string, values []any) ([]byte, error) {
	if len(text) > maxSettingsBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxSettingsBytes)
	}
	return editJSONBody(text, func(body []byte) ([]byte, error) {
		list, err := readJSONList(body, where)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if list, err = appendIfMissing(list, value); err != nil {
				return nil, err
			}
		}
		return setJSONValue(body, where, list)
	})
}

func appendIfMissing(list []any, value any) ([]any, error) {
	want, err := json.Marshal(value)
	for _, one := range list {
		if have, failed := json.Marshal(one); failed == nil && bytes.Equal(have, want) {
			return list, err
		}
	}
	return append(list, value), err
}

// readJSONList returns the list at a key; nil if the key is missing.
func readJSONList(text []byte, where []string) (list []any, err error) {
	if err = checkNestingDepth(text); err != nil {
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
			return nil, fmt.Errorf("%s is not an object; %w", describeKey(where[:i]), errNotEditable)
		}
		if object[name] == nil {
			return nil, nil
		}
		at = object[name]
	}
	if json.Unmarshal(at, &list) != nil {
		return nil, fmt.Errorf("%s is not a list; %w", describeKey(where), errNotEditable)
	}
	return list, nil
}
