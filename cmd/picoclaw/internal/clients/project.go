package clients

import (
	"errors"
	"fmt"
	"path/filepath"
)

// listSettingLocation is the location of a list in the settings that a client keeps in each project.
type listSettingLocation struct {
	file string // relative to the project
	key  string // dotted
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
	return PlanListAppend(filepath.Join(project, l.file), l.key, values...)
}
