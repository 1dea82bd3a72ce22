package config

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/picoclaw/picoclaw/internal/suggest"
)

// KeyType is the type of a key's value.
type KeyType string

// The types of configuration values.
const (
	StringType  KeyType = "string"
	BoolType    KeyType = "boolean"
	IntType     KeyType = "integer"
	NumberType  KeyType = "number" // not negative
	SizeType    KeyType = "size"   // number of bytes, or a string such as "50MB"
	StringsType KeyType = "list of strings"
	IntsType    KeyType = "list of integers"
	ObjectsType KeyType = "list of objects" // keys of an element have names "name[]"
	MapType     KeyType = "objects by id"   // keys of an element have names "name.<id>"
	FreeType    KeyType = "free object"     // any keys, unchecked
	ListsType   KeyType = "lists by name"   // object of lists of strings
	TextsType   KeyType = "texts by name"   // object of strings
	RulesType   KeyType = "list of rules"   // command rules, for [guard.ParseExecRules]
)

// KeySpec is a row in the table of known keys, keys.json: the name, type, constraints, default and description of a key.
type KeySpec struct {
	// Name is the full name, with "[]" for a list element and "<id>" for an operator's id.
	Name string `json:"name"`

	// Alias is an alternative last part of Name; may be empty.
	Alias string `json:"alias"`

	Type   KeyType      `json:"type"`
	Format StringFormat `json:"format"` // constraint on the string, or on each string in the list
	Values []string     `json:"values"` // allowed strings, if not empty
	Min    int64        `json:"min"`    // limits of an integer, of each in a list, or of a size; both 0 for none
	Max    int64        `json:"max"`

	// Default is the built-in value: string, bool, int64, float64, []string or []map[string]any; nil for none.
	Default any `json:"default"`

	// Required says that the containing object must have the key.
	Required bool `json:"required"`

	// Unique says that values must differ among the objects of a list.
	Unique bool `json:"unique"`

	// PerAgent says that agents can override the key.
	PerAgent bool `json:"per_agent"`

	// Project describes the effect of the key in a project's file; empty if a project can't set it.
	Project string `json:"project"`

	// Doc describes the key in a sentence or two.
	Doc string `json:"doc"`
}

// NameInAgent returns the name of the key in an agent's settings, such as "tools.set" or "workspace"; empty if agents
// can't override the key.
func (k KeySpec) NameInAgent() string {
	if !k.PerAgent {
		return ""
	}
	return strings.TrimPrefix(k.Name, defaultsPrefix)
}

// VariableName returns the environment variable that sets the key; empty for none. In the variable of a plugin's key,
// "<id>" is a placeholder.
func (k KeySpec) VariableName() string {
	if strings.ContainsAny(k.Name, "[$") || k.Type == MapType ||
		strings.HasPrefix(k.Name, "secrets.") || strings.HasPrefix(k.Name, "tools.mcp.") || strings.HasPrefix(k.Name, "hooks.processes.") {
		return ""
	}
	name := strings.ReplaceAll(k.Name, ".", "_")
	return variablePrefix + strings.ReplaceAll(strings.ToUpper(name), "<ID>", "<id>")
}

const (
	defaultsPrefix = "agents.defaults."
	agentsKey      = "agents.agents"
	agentsAlias    = "agents.list"
	agentPrefix    = agentsKey + "[]."
)

// KnownKeys returns the table of all keys in the order of the documentation. A key that agents can override has a
// second row without a default.
func KnownKeys() []KeySpec {
	return slices.Clone(keySchema().rows)
}

// keyTree is the table of known keys, with a tree for lookups by parts of their names.
type keyTree struct {
	rows []KeySpec
	root *keyNode
}

// keyNode is a node in the tree of known keys.
type keyNode struct {
	name     string // last part of the full name; "[]" and "<id>" for elements
	full     string
	key      *KeySpec // nil for an object without a row
	children []*keyNode
}

// keySchema returns the tree of known keys, which it builds once.
var keySchema = sync.OnceValue(func() *keyTree {
	t := &keyTree{root: &keyNode{}}
	for _, row := range keyTable() {
		t.rows = append(t.rows, row)
		if row.Name != agentsKey {
			continue
		}
		for _, own := range keyTable() {
			if own.PerAgent {
				own.Name, own.Default, own.Project = agentPrefix+own.NameInAgent(), nil, ""
				own.PerAgent = false
				t.rows = append(t.rows, own)
			}
		}
	}
	for i := range t.rows {
		t.root.insertKey(&t.rows[i])
	}
	return t
})

func (e *keyNode) insertKey(row *KeySpec) {
	for _, name := range splitKeyName(row.Name) {
		next := e.findChild(name)
		if next == nil {
			next = &keyNode{name: name, full: joinKeyName(e.full, name)}
			e.children = append(e.children, next)
		}
		e = next
	}
	e.key = row
}

// findChild returns the child with a name or alias; nil for none.
func (e *keyNode) findChild(name string) *keyNode {
	for _, c := range e.children {
		if c.name == name || c.key != nil && c.key.Alias != "" && c.key.Alias == name {
			return c
		}
	}
	return nil
}

// keyType returns the entry's type; empty for an object with known keys.
func (e *keyNode) keyType() KeyType {
	if e.key == nil {
		return ""
	}
	return e.key.Type
}

// splitKeyName splits a key's name into parts: "agents.agents[].id" into "agents", "agents", "[]" and "id".
func splitKeyName(name string) []string {
	return strings.Split(strings.ReplaceAll(name, "[", ".["), ".")
}

func joinKeyName(full, part string) string {
	if full == "" || strings.HasPrefix(part, "[") {
		return full + part
	}
	return full + "." + part
}

// FilesystemModuleActions returns the actions that a modules entry can allow for the filesystem.
func FilesystemModuleActions() []string {
	for _, row := range keyTable() {
		if row.Name == "agents.agents[].modules[].actions" {
			return slices.Clone(row.Values)
		}
	}
	return nil
}

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

// nearestKey returns the known key that is most similar to an unknown key. The object that contains the unknown key has
// the name parent in the table, and path as written. The result takes list indexes and ids from path, as far as its
// parents are the same.
//
// The similarity of the last part counts most, then the distance of the parents. near is false if hardly a letter
// matches.
func nearestKey(unknown, parent, path string) (key string, near bool) {
	last := unknown[strings.LastIndex(unknown, ".")+1:]
	above, written := splitKeyName(parent), splitKeyName(path)
	best, bestScore := "", 0
	var walk func(e *keyNode)
	walk = func(e *keyNode) {
		for _, child := range e.children {
			walk(child)
			if child.name[0] == '[' || child.name[0] == '<' {
				continue
			}
			parts := splitKeyName(child.full)
			shared := sharedPrefixLength(above, parts[:len(parts)-1])
			apart := (len(above) - shared) + (len(parts) - 1 - shared)
			mistyped := 1000 * suggest.EditDistance(last, child.name) / max(len(last), len(child.name))
			if score := mistyped + 20*apart; best == "" || score < bestScore {
				best, bestScore, near = joinKeyAsWritten(parts, written, shared), score, mistyped < 600
			}
		}
	}
	walk(keySchema().root)
	return best, near
}

// unknownKeyHint returns the remedy for an unknown key in the object e at path.
func unknownKeyHint(full, path string, e *keyNode) string {
	key, near := nearestKey(full, e.full, path)
	if near || path == "" {
		return "the nearest known key is " + key
	}
	var names []string
	for _, child := range e.children {
		names = append(names, child.name)
	}
	return "the nearest known key is " + joinKeyName(path, suggest.Nearest(full[strings.LastIndex(full, ".")+1:], names)) +
		", and " + path + " has " + strings.Join(names, ", ")
}

// joinKeyAsWritten joins the parts of a key, and replaces the first shared ones by the parts as written.
func joinKeyAsWritten(parts, written []string, shared int) string {
	full := ""
	for i, part := range parts {
		if i < shared {
			part = written[i]
		}
		full = joinKeyName(full, part)
	}
	return full
}

func sharedPrefixLength(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
