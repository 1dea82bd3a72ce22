package config

import (
	"slices"
	"strings"
	"sync"
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
	Min    int64        `json:"min"`    // limits of an integer or size; both 0 for none
	Max    int64        `json:"max"`

	// Default is the built-in value: string, bool, int64, float64, []string or []map[string]any; nil for none.
	Default any `json:"default"`

	// Required says that the containing object must have the key.
	Required bool `json:"required"`

	// Unique says that values must differ among the objects of a list.
	Unique bool `json:"unique"`

	// PerAgent says that agents can override the key.
	PerAgent bool `json:"per_agent"`

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
				own.Name, own.Default = agentPrefix+own.NameInAgent(), nil
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
