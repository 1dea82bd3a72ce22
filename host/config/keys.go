package config

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

//go:embed keys.json
var keysJSON []byte

// keyTable returns the table of all keys, without the second rows of [KnownKeys].
var keyTable = sync.OnceValue(func() []KeySpec {
	var all struct {
		Keys       []KeySpec `json:"keys"`
		EventHooks []KeySpec `json:"event_hooks"` // for each event, which replaces "<event>"
		HookGrants []KeySpec `json:"hook_grants"` // for each kind of hook, which replaces "<hook>"
	}
	if err := json.Unmarshal(keysJSON, &all, json.RejectUnknownMembers(true)); err != nil {
		panic(err) // a test reads them
	}
	rows := append(all.Keys, expandKeys(all.HookGrants, "<hook>", "hooks.processes.<id>")...)
	for _, event := range HookEventNames() {
		rows = append(rows, expandKeys(all.EventHooks, "<event>", event)...)
		rows = append(rows, expandKeys(all.HookGrants, "<hook>", "hooks."+event+"[].hooks[]")...)
	}
	for i := range rows {
		rows[i].Default = typedDefault(rows[i])
	}
	return rows
})

// expandKeys returns the rows with a placeholder replaced.
func expandKeys(rows []KeySpec, placeholder, value string) (out []KeySpec) {
	for _, row := range rows {
		row.Name = strings.ReplaceAll(row.Name, placeholder, value)
		row.Doc = strings.ReplaceAll(row.Doc, placeholder, value)
		out = append(out, row)
	}
	return out
}

// typedDefault returns a default that was read from JSON with the Go type of its key.
func typedDefault(row KeySpec) any {
	switch value := row.Default.(type) {
	case float64:
		if row.Type == IntType {
			return int64(value)
		}
	case []any:
		if row.Type == RulesType {
			return []map[string]any{}
		}
		texts := make([]string, len(value))
		for i, text := range value {
			texts[i] = text.(string)
		}
		return texts
	}
	return row.Default
}

// HookEventNames returns the names of the hook events, which are Claude Code's.
func HookEventNames() []string {
	return []string{"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SessionEnd", "SubagentStop", "Stop",
		"Notification"}
}

// bundledPluginGrants returns the grants of the bundled plugins as defaults, which operators see and can revoke.
func bundledPluginGrants() map[string]any {
	grants := func(workspace string, exec, network, state, takeback bool) map[string]any {
		return map[string]any{"grants": map[string]any{"workspace": workspace, "exec": exec, "network": network,
			"state": state, "takeback": takeback}}
	}
	grep := grants("ro", true, false, false, false)                           // runs ripgrep
	grep["grants"].(map[string]any)["env"] = []any{"HOME", "XDG_CONFIG_HOME"} // finds git's global ignore file
	return map[string]any{
		"filesystem": grants("rw", false, false, true, true), // stores file versions the agent has read
		"grep":       grep,
		"shell":      grants("rw", true, true, false, true),
	}
}
